// SPDX-License-Identifier: Apache-2.0
// What the pages of runs read. The stream reports when something was logged.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { RunStatus } from "@/api/types";
import type { ListQuery } from "@/components/table/SearchedList";
import type { StepRange } from "@/lib/curves/series";

const CHARTS = 12; // of a page
const MAX_POINTS = 1600; // of one answer (mlhub/tracking/api/serializers.py)

export function isOver(status: RunStatus): boolean {
  return status !== "RUNNING" && status !== "SCHEDULED";
}

export function runsQuery(filters: { project?: string; search?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ["runs", filters],
    queryFn: () => unwrap(api.GET("/api/v1/runs", { params: { query: filters } })),
    placeholderData: keepPreviousData,
  });
}

export function runQuery(id: string) {
  return queryOptions({
    queryKey: ["run", id],
    queryFn: () => unwrap(api.GET("/api/v1/runs/{id}", { params: { path: { id } } })),
  });
}

/** The run that a job logs to has the job's id, and the job's page. */
export function jobOfRunQuery(id: string) {
  return queryOptions({
    queryKey: ["run", id, "job"],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
  });
}

export const runMetricsKey = (id: string) => ["run", id, "metrics"];

/** By name, without their curves. */
export function readRunMetrics(id: string, query: ListQuery) {
  return unwrap(api.GET("/api/v1/runs/{id}/metrics/names", { params: { path: { id }, query: { limit: CHARTS, ...query } } }));
}

export const runFilesKey = (id: string) => ["run", id, "artifacts"];

export function readRunFiles(id: string, query: ListQuery) {
  return unwrap(api.GET("/api/v1/runs/{id}/artifacts", { params: { path: { id }, query } }));
}

export type EntryKind = "params" | "tags";

export const runEntriesKey = (id: string, kind: EntryKind) => ["run", id, kind];

export function readRunEntries(id: string, kind: EntryKind, query: ListQuery) {
  return unwrap(api.GET(`/api/v1/runs/{id}/${kind}`, { params: { path: { id }, query } }));
}

export const runDatasetsKey = (id: string) => ["run", id, "datasets"];

export function readRunDatasets(id: string, query: ListQuery) {
  return unwrap(api.GET("/api/v1/runs/{id}/datasets", { params: { path: { id }, query } }));
}

/** nPoints: of the whole curve; a curve that grew is another query. */
export function runCurveQuery(id: string, key: string, nPoints: number) {
  return queryOptions({
    queryKey: ["run", id, "curve", key, nPoints],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/runs/{id}/metrics", { params: { path: { id }, query: { key, max_points: MAX_POINTS } } }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** A part of a curve, with every point where they are few enough. A curve that grew is another query, which shows the same part meanwhile. */
export function runRangeQuery(id: string, key: string, nPoints: number, range: StepRange | null) {
  const query = { key, max_points: MAX_POINTS, ...(range && { first_step: range.first, last_step: range.last }) };
  return queryOptions({
    queryKey: ["run", id, "curve", key, nPoints, range],
    queryFn: () => unwrap(api.GET("/api/v1/runs/{id}/metrics", { params: { path: { id }, query } })),
    placeholderData: (shown, before) => (before !== undefined && before.queryKey.at(-1) === range ? shown : undefined),
  });
}
