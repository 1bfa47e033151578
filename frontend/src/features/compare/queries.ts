// SPDX-License-Identifier: Apache-2.0
// What the page that compares jobs reads: the jobs, the metrics that they have, and one metric's curves, some jobs at a time.
import { queryOptions } from "@tanstack/react-query";

import type { ChoiceSource } from "@/api/choices";
import { api, commaLists, unwrap } from "@/api/client";
import type { components } from "@/api/schema";
import type { Job } from "@/api/types";
import { everyPage } from "@/lib/cursor";

export type Axis = components["schemas"]["ComparisonRequest"]["axis"];
export type ComparedCurve = components["schemas"]["ComparedCurve"];

/** The most jobs on one page. */
export const MOST_JOBS = 1000;
const JOBS_OF_A_LIST = 50; // an address with more ids is too long for some proxies
/** Of jobs or of runs; mlhub/metrics/points/comparison.py and mlhub/tracking/comparison.py. */
export const ROWS_OF_AN_ANSWER = 200;
const POINTS_OF_AN_ANSWER = 8000;
const MOST_POINTS = 800; // of a curve: twice the pixels of a usual chart

const FIELDS = [
  "id", "name", "state", "created_by", "epochs", "batch_size", "hyperparameters", "seed", "mode", "strategy", "min_workers",
  "max_workers", "priority", "resources", "dataset_version", "model_version", "result_metrics", "gpu_hours", "trained_s", "tags",
] as const satisfies readonly (keyof Job)[];
export type ComparedJob = Pick<Job, (typeof FIELDS)[number]>;

/** Not below the key of lists of jobs, which any job's event makes stale: useLiveJobs() reads those that changed again. */
export const comparedJobsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["compared-jobs", ids],
    queryFn: () => readJobs(ids),
    refetchOnWindowFocus: false,
    refetchOnMount: "always", // what changed while no page showed them was not read
    staleTime: 60_000,
  });

/** In the order of the ids, without those that are not there, or not to be seen. */
export async function readJobs(ids: readonly string[]): Promise<ComparedJob[]> {
  const lists = await Promise.all(
    chunks(ids, JOBS_OF_A_LIST).map((part) =>
      everyPage<ComparedJob>((page) => {
        const params = { query: { id: part, fields: FIELDS.join(","), ...page } };
        return unwrap(api.GET("/api/v1/jobs", { params, querySerializer: commaLists }));
      }),
    ),
  );
  const found = lists.flat();
  const places = new Map(ids.map((id, place) => [id, place]));
  return found.sort((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0));
}

export interface ComparedMetric {
  key: string;
  n_jobs: number;
}

/** Metrics of the jobs, those that the most jobs have first. isWhole: there are no others. */
export const metricsQuery = (ids: readonly string[]) =>
  queryOptions({ queryKey: ["compared-metrics", ids], queryFn: () => readMetrics(ids), staleTime: 60_000 });

/** To choose one of more metrics than are listed. */
export function metricChoices(ids: readonly string[]): ChoiceSource<ComparedMetric> {
  return {
    key: ["compared-metrics", "choices", ...ids],
    read: async ({ search = "", limit }) => {
      const { metrics, isWhole } = await readMetrics(ids, search);
      return { results: metrics.slice(0, limit), next: isWhole && metrics.length <= limit ? null : "more", previous: null };
    },
    idOf: ({ key }) => key,
    readOne: async (key) => (await readMetrics(ids, key)).metrics.find((metric) => metric.key === key) ?? { key, n_jobs: 0 },
  };
}

async function readMetrics(ids: readonly string[], search = ""): Promise<{ metrics: ComparedMetric[]; isWhole: boolean }> {
  const counts = new Map<string, number>();
  let isWhole = true;
  for (const jobs of chunks(ids, ROWS_OF_AN_ANSWER)) {
    const { metrics, n_metrics } = await unwrap(api.POST("/api/v1/jobs/compare/metrics", { body: { jobs, search } }));
    for (const { key, n_jobs } of metrics) counts.set(key, (counts.get(key) ?? 0) + n_jobs);
    isWhole &&= n_metrics === metrics.length;
  }
  const found = [...counts].map(([key, n_jobs]) => ({ key, n_jobs }));
  return { metrics: found.sort((a, b) => b.n_jobs - a.n_jobs || rank(a.key) - rank(b.key) || a.key.localeCompare(b.key)), isWhole };
}

export const curvesQuery = (ids: readonly string[], metric: string, axis: Axis) =>
  queryOptions({
    queryKey: ["compared-curves", ids, metric, axis],
    queryFn: () => readCurves(ids, metric, axis, pointsEach(ids.length)),
    staleTime: 30_000,
    refetchOnWindowFocus: false,
    enabled: metric !== "",
  });

export async function readCurves(ids: readonly string[], metric: string, axis: Axis, max_points: number): Promise<ComparedCurve[]> {
  const found: ComparedCurve[] = [];
  for (const jobs of chunks(ids, ROWS_OF_AN_ANSWER)) {
    const body = { jobs, metric, axis, max_points };
    found.push(...(await unwrap(api.POST("/api/v1/jobs/compare/curves", { body }))).curves);
  }
  return found;
}

/** How many points each of so many curves has: the more there are, the fewer each. */
export function pointsEach(nCurves: number): number {
  const nOfAnAnswer = Math.max(1, Math.min(nCurves, ROWS_OF_AN_ANSWER));
  return Math.min(MOST_POINTS, Math.floor(POINTS_OF_AN_ANSWER / nOfAnAnswer));
}

const MOST_PARAMETERS = 200; // mlhub/experiments/api/importance.py
const MOST_LETTERS = 500;

/** How much each setting matters for the result; rows: the values of both, by job. */
export const importanceQuery = (rows: Rows) =>
  queryOptions({
    queryKey: ["compared-importance", rows],
    queryFn: () => {
      const parameters = Object.entries(rows.parameters).slice(0, MOST_PARAMETERS);
      const short = parameters.map(([name, values]) => [name, values.map((value) => (typeof value === "string" ? value.slice(0, MOST_LETTERS) : value))] as const);
      return unwrap(api.POST("/api/v1/jobs/compare/importance", { body: { results: rows.results, parameters: Object.fromEntries(short) } }));
    },
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });

interface Rows {
  results: (number | null)[];
  parameters: Record<string, (string | number | null)[]>;
}

/** From one job to another: settings, and code as diffs. Neither changes. */
export const differenceQuery = (id: string, to: string) =>
  queryOptions({
    queryKey: ["job-difference", id, to],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/difference", { params: { path: { id }, query: { to } } })),
    staleTime: 60_000,
  });

/** Losses before others of as many jobs. */
function rank(key: string): number {
  return key.includes("loss") ? 0 : 1;
}

export function chunks(ids: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, n) => ids.slice(n * size, (n + 1) * size));
}
