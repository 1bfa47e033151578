// SPDX-License-Identifier: Apache-2.0
// The numbers of a study's figures, as they are saved.
import type { Study, Trial } from "@/api/types";
import { bestSoFar } from "@/features/studies/bestSoFar";
import { lastValue } from "@/features/studies/values";
import { csvOf } from "@/lib/download";

export function hasResults(trials: readonly Trial[]): boolean {
  return trials.some(({ results }) => results.length > 0);
}

/** Each improvement, in the order in which they were found. */
export function csvOfBest(study: Study, trials: readonly Trial[]): string {
  const { improvements } = bestSoFar(study, trials, "trials");
  return csvOf([["trials_with_a_result", study.metric, "trial", study.unit], ...improvements.map(({ at, value, trial, epochs }) => [at, value, trial, epochs])]);
}

/** Each result of each trial. */
export function csvOfRungs(trials: readonly Trial[]): string {
  const rows = trials.flatMap(({ number, results }) => results.map(({ value, epochs, at }, rung) => [number, rung, epochs, value, at]));
  return csvOf([["trial", "rung", "length", "value", "at"], ...rows]);
}

/** A row a trial: its hyperparameters, and what it reached last. */
export function csvOfTrials(study: Study, trials: readonly Trial[]): string {
  const names = Object.keys(study.space);
  const rows = trials.map((trial) => [trial.number, trial.status, ...names.map((name) => cellOf(trial.parameters[name])), lastValue(trial)]);
  return csvOf([["trial", "status", ...names, study.metric], ...rows]);
}

function cellOf(value: unknown): string | number | null {
  if (value === undefined || value === null) return null;
  return typeof value === "number" || typeof value === "string" ? value : JSON.stringify(value);
}
