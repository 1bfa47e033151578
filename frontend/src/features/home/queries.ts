// SPDX-License-Identifier: Apache-2.0
// What the first page reads: one's own jobs, their newest curve, and how full quotas and the cluster are.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Job, JobState } from "@/api/types";
import { everyPage } from "@/lib/cursor";

const FIELDS = [
  "id", "kind", "name", "project", "state", "explanations", "failure", "progress", "submitted_at", "finished_at", "predicted_start_at",
  "predicted_finish_at", "target_metric", "result_metrics",
] as const satisfies readonly (keyof Job)[];
export type HomeJob = Pick<Job, (typeof FIELDS)[number]>;

const SPARK_POINTS = 40;

/** The key begins with "jobs": each event of a job makes it stale. */
export const myJobsQuery = (owner: string, states: readonly JobState[], limit: number) =>
  queryOptions({
    queryKey: ["jobs", "mine", owner, states, limit],
    queryFn: async (): Promise<HomeJob[]> => {
      const query = { owner, state: [...states], fields: FIELDS.join(","), limit };
      return (await unwrap(api.GET("/api/v1/jobs", { params: { query } }))).results;
    },
  });

/** Losses by step, thinned to a small curve. */
export interface Spark {
  x: readonly number[];
  y: readonly number[];
}

/** The losses of these jobs, by job. */
export const sparksQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["jobs", "sparks", ids],
    queryFn: async (): Promise<Record<string, Spark>> => {
      const body = { jobs: [...ids], metric: "train/loss", axis: "step" as const, max_points: SPARK_POINTS };
      const { curves } = await unwrap(api.POST("/api/v1/jobs/compare/curves", { body }));
      return Object.fromEntries(curves.map(({ job, x, y }) => [job, { x, y }]));
    },
    enabled: ids.length > 0,
  });

export const quotaQuery = (organisationId: string) =>
  queryOptions({
    queryKey: ["quota", organisationId],
    queryFn: () => unwrap(api.GET("/api/v1/organisations/{id}/quota", { params: { path: { id: organisationId } } })),
  });

/** What one may have oneself, of organisations, teams and projects that limit their users. */
export const myLimitsQuery = queryOptions({
  queryKey: ["user-quotas", "mine"],
  queryFn: () => unwrap(api.GET("/api/v1/user-quotas/mine")),
});

/** How long jobs waited for their first step, of the last 24 hours. */
export const waitsQuery = queryOptions({
  queryKey: ["queue", "waits"],
  queryFn: () => unwrap(api.GET("/api/v1/queue/waits")),
  staleTime: 60_000,
});

export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: () => everyPage((query) => unwrap(api.GET("/api/v1/invitations", { params: { query } }))),
});

/** Whether there is any dataset that one may see. */
export const anyDatasetQuery = queryOptions({
  queryKey: ["datasets", "any"],
  queryFn: async () => (await unwrap(api.GET("/api/v1/datasets", { params: { query: { limit: 1 } } }))).results.length > 0,
});
