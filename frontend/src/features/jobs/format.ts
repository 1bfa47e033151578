// SPDX-License-Identifier: Apache-2.0
// How the jobs' pages write sizes, metrics and free JSON.
import { plural, t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import type { Attempt, Job } from "@/api/types";
import { modeLabel } from "@/domain/mode";
import { strategyLabel } from "@/domain/strategy";
import { number } from "@/lib/quantities";
import { duration } from "@/lib/time";

/** "3 workers + 1 server". */
export function sizeOf(attempt: Pick<Attempt, "n_workers" | "n_servers">): string {
  const workers = plural(attempt.n_workers, { one: "# worker", other: "# workers" });
  return attempt.n_servers > 0 ? `${workers} + ${plural(attempt.n_servers, { one: "# server", other: "# servers" })}` : workers;
}

/** What it runs as, or what was asked for. */
export function shapeOf(job: Pick<Job, "kind" | "mode" | "min_workers" | "max_workers" | "current_attempt">): string {
  const attempt = job.current_attempt;
  const { min_workers: min, max_workers: max } = job;
  const asked = min === max ? plural(min, { one: "# worker", other: "# workers" }) : t`${min}–${max} workers`;
  const size = attempt === null ? asked : sizeOf(attempt);
  // workers that only ask a model exchange nothing
  return job.kind === "train" ? `${modeLabel(attempt === null ? job.mode : attempt.mode)} · ${size}` : size;
}

/** result_metrics and such are free JSON: only its numbers. */
export function numbersIn(json: unknown): [string, number][] {
  if (!isRecord(json)) return [];
  return Object.entries(json).filter((entry): entry is [string, number] => typeof entry[1] === "number");
}

/** The metric that the job was for: its target, else accuracy, else loss, else the first. */
export function headlineMetric(job: Pick<Job, "target_metric" | "result_metrics">): [string, number] | null {
  const metrics = numbersIn(job.result_metrics);
  const named = (test: (key: string) => boolean) => metrics.find(([key]) => test(key));
  return (
    named((key) => job.target_metric !== "" && key === job.target_metric) ??
    named((key) => key.includes("accuracy")) ??
    named((key) => key.includes("loss")) ??
    metrics[0] ??
    null
  );
}

/** "max_gpus" -> "Max gpus": a code that has no label of its own. */
export function humanise(code: string): string {
  const words = code.replaceAll(/[._-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A fact as people read it. */
function factText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value);
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}

export function factsOf(json: unknown): [string, string][] {
  if (!isRecord(json)) return [];
  return Object.entries(json).map(([key, value]) =>
    key.endsWith("_s") && typeof value === "number" ? [humanise(key.slice(0, -2)), duration(value)] : [humanise(key), factText(value)],
  );
}

/** "Asynchronous (ASP) · staleness_scaling zhang": a name first, then each with its value; what is off is left out. */
export function parameterList(values: unknown): string {
  if (!isRecord(values)) return "";
  return Object.entries(values)
    .filter(([, value]) => value !== "none" && value !== null)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return name === "name" ? strategyLabel(text) : `${name} ${text}`;
    })
    .join(" · ");
}

/** Losses, errors and perplexities fall when a model gets better (the runtime judges by the same words). */
export function fallsWhenBetter(metric: string): boolean {
  return ["loss", "error", "perplexity", "bits_per"].some((word) => metric.includes(word));
}
