// SPDX-License-Identifier: Apache-2.0
// Runs from elsewhere on the page that compares jobs: their parameters and newest values, and one metric's curves, some runs at a time.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { components } from "@/api/schema";
import type { RunStatus } from "@/api/types";

import { type Axis, ROWS_OF_AN_ANSWER, chunks, pointsEach } from "./queries";

type Answer = components["schemas"]["ComparedRuns"];
export type ComparedRunCurve = components["schemas"]["ComparedRunCurve"];

/** The most runs on one page. */
export const MOST_RUNS = 1000;

export interface ComparedRun {
  id: string;
  name: string;
  status: RunStatus;
  /** The name of its project. */
  project: string;
  params: Record<string, string>;
  metrics: Record<string, number>;
}

export interface ComparedRuns {
  runs: ComparedRun[];
  /** All metrics to choose from, also those of which no values are here. */
  metrics: { key: string; n_runs: number }[];
  /** How many parameters and metrics have no values here: those that the fewest runs have. */
  nLeftOut: number;
}

/** Below the key of lists of runs: when something was logged to one it is stale, and the stream reports that no more than every few seconds. */
export const comparedRunsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["runs", "compared", ids],
    queryFn: async () => {
      const parts = await Promise.all(chunks(ids, ROWS_OF_AN_ANSWER).map(readRuns));
      return joined(parts.flat());
    },
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });

/** A client of MLflow says neither how many GPUs a run holds nor its epochs. */
export const hasAxis = (axis: Axis): axis is "step" | "wall" => axis === "step" || axis === "wall";

export const runCurvesQuery = (ids: readonly string[], metric: string, axis: Axis) =>
  queryOptions({
    queryKey: ["compared-run-curves", ids, metric, axis],
    queryFn: () => readRunCurves(ids, metric, axis, pointsEach(ids.length)),
    refetchOnWindowFocus: false,
    staleTime: 30_000,
    enabled: hasAxis(axis) && metric !== "" && ids.length > 0,
  });

export async function readRunCurves(ids: readonly string[], metric: string, axis: Axis, max_points: number): Promise<ComparedRunCurve[]> {
  if (!hasAxis(axis)) return [];
  const found: ComparedRunCurve[] = [];
  for (const part of chunks(ids, ROWS_OF_AN_ANSWER)) {
    for (let runs = part; runs.length > 0;) {
      const body = { runs, metric, axis, max_points };
      const { curves, left } = await unwrap(api.POST("/api/v1/runs/compare/curves", { body }));
      found.push(...curves);
      runs = left;
    }
  }
  return found;
}

async function readRuns(ids: string[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let runs = ids; runs.length > 0;) {
    const answer = await unwrap(api.POST("/api/v1/runs/compare", { body: { runs } }));
    answers.push(answer);
    runs = answer.left;
  }
  return answers;
}

/** One table of several. What has no values in one of them is left out of all, lest some runs seem to have none. */
function joined(answers: readonly Answer[]): ComparedRuns {
  const bare = new Set(answers.flatMap(({ params, metrics }) => [...bareOf("param", params), ...bareOf("metric", metrics)]));
  const counts = new Map<string, number>();
  for (const { key, n_runs } of answers.flatMap(({ metrics }) => metrics)) counts.set(key, (counts.get(key) ?? 0) + n_runs);
  const runs = answers.flatMap(({ runs: described, params, metrics }) =>
    described.map((run, place) => ({
      ...run,
      params: rowOf(params.filter(({ key }) => !bare.has(`param ${key}`)), place),
      metrics: rowOf(metrics.filter(({ key }) => !bare.has(`metric ${key}`)), place),
    })),
  );
  return {
    runs,
    metrics: [...counts].map(([key, n_runs]) => ({ key, n_runs })),
    nLeftOut: Math.max(0, ...answers.map(({ n_params, n_metrics, params, metrics }) => n_params + n_metrics - nWithValues(params) - nWithValues(metrics))),
  };
}

interface Column<T> {
  key: string;
  values: (T | null)[] | null;
}

function bareOf(kind: string, columns: readonly Column<unknown>[]): string[] {
  return columns.flatMap(({ key, values }) => (values === null ? [`${kind} ${key}`] : []));
}

function nWithValues(columns: readonly Column<unknown>[]): number {
  return columns.filter(({ values }) => values !== null).length;
}

/** What the run at that place has of these columns. */
function rowOf<T>(columns: readonly Column<T>[], place: number): Record<string, T> {
  const found: Record<string, T> = {};
  for (const { key, values } of columns) {
    const value = values?.[place];
    if (value !== null && value !== undefined) found[key] = value;
  }
  return found;
}
