// SPDX-License-Identifier: Apache-2.0
// What the jobs' pages read and write over REST.
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, isRecord, unwrap } from "@/api/client";
import type { AdvisedAction, Checkpoint, Job, Profile } from "@/api/types";
import { isOver, type JobVerb } from "@/domain/states/jobState";

const ANALYSIS_STALE_MS = 10_000;

/** What deleting it would mean; asked anew each time. */
export const deletionQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "deletion"],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/deletion", { params: { path: { id } } })),
    staleTime: 0,
  });

/** What its attempts measured of themselves; read again as it makes progress. */
export const speedQuery = (job: Pick<Job, "id" | "state">) =>
  queryOptions({
    queryKey: ["job", job.id, "speed"],
    meta: { isOver: isOver(job) },
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/speed", { params: { path: { id: job.id } } })),
  });

/** What the pods of an attempt used over time; null: of the newest attempt with samples. */
export const usageQuery = (id: string, attempt: number | null, firstPod: number) =>
  queryOptions({
    queryKey: ["job", id, "usage", attempt, firstPod],
    queryFn: () => {
      const query = { ...(attempt !== null && { attempt }), first_pod: firstPod };
      return unwrap(api.GET("/api/v1/jobs/{id}/usage", { params: { path: { id }, query } }));
    },
  });

const RECORDING_POLL_MS = 2_000;

/** The recordings of torch's profiler, newest first; asked for again while one is under way. */
export const profilesQuery = (job: Pick<Job, "id" | "state">) =>
  queryOptions({
    queryKey: ["job", job.id, "profiles", job.state],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/profiles", { params: { path: { id: job.id } } })),
    refetchInterval: ({ state: { data } }) =>
      data?.some(({ ended_at: endedAt }) => endedAt === null) === true ? RECORDING_POLL_MS : false,
  });

/** A recording with its dearest operators; another one once a worker has answered. */
export const profileQuery = (id: string, recording: Pick<Profile, "id" | "state" | "traces">) =>
  queryOptions({
    queryKey: ["job", id, "profile", recording.id, recording.traces.map(({ state }) => state).join()],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/profiles/{profile}", { params: { path: { id, profile: recording.id } } })),
  });

/** Its files: there once it has succeeded. */
export const artifactsQuery = (job: Pick<Job, "id" | "state">) =>
  queryOptions({
    queryKey: ["job", job.id, "artifacts", job.state],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/artifacts", { params: { path: { id: job.id } } })),
  });

/** The model version that it made. */
export const resultQuery = (version: string) =>
  queryOptions({
    queryKey: ["model", "version", version],
    queryFn: () => unwrap(api.GET("/api/v1/model-versions/{id}", { params: { path: { id: version } } })),
  });

/** How its newest attempt started; read again with rounds and progress. */
export const startupQuery = (job: Pick<Job, "id" | "state" | "current_attempt">) =>
  queryOptions({
    queryKey: ["job", job.id, "startup", job.state, job.current_attempt?.number ?? null],
    meta: { isOver: isOver(job) },
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/startup", { params: { path: { id: job.id } } })),
  });

/** What it lacks and what would help: the policy is asked, which takes a moment. */
export const analysisQuery = (job: Pick<Job, "id" | "state">) =>
  queryOptions({
    queryKey: ["why", job.id, "analysis", job.state],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/why", { params: { path: { id: job.id } } })),
    staleTime: ANALYSIS_STALE_MS,
  });

/** Its checkpoints, newest first; read again as it makes progress, since newer ones replace them. */
export const checkpointsQuery = (job: Pick<Job, "id" | "state">) =>
  queryOptions({
    queryKey: ["job", job.id, "checkpoints"],
    meta: { isOver: isOver(job) },
    queryFn: () => everyCheckpoint(job.id),
  });

const CHECKPOINTS_ASKED = 500;

/** There may be thousands: a part of them at a time, since no answer shall be large. */
async function everyCheckpoint(id: string): Promise<Checkpoint[]> {
  const found: Checkpoint[] = [];
  let n = CHECKPOINTS_ASKED;
  while (n === CHECKPOINTS_ASKED) {
    const last = found.at(-1);
    const query = { limit: CHECKPOINTS_ASKED, ...(last && { after: last.id }) };
    const part = await unwrap(api.GET("/api/v1/jobs/{id}/checkpoints", { params: { path: { id }, query } }));
    found.push(...part);
    n = part.length;
  }
  return found;
}

export const strategiesQuery = queryOptions({
  queryKey: ["strategies"],
  queryFn: () => unwrap(api.GET("/api/v1/strategies")),
  staleTime: Infinity,
});

export function isReady(item: { latest_version: { state: string } | null }): boolean {
  return item.latest_version?.state === "ready";
}

/** Whether the newest code of the model runs as a script, which may do without a dataset or read several. */
export function isScript(model: { latest_version: { kind: string } | null }): boolean {
  return model.latest_version?.kind === "script";
}

/** Whether there is something to learn from it, not only to predict on. */
export function hasTargets(item: { latest_version: { schema: unknown } | null }): boolean {
  const schema = item.latest_version?.schema;
  return !isRecord(schema) || schema.task !== "none";
}

/** Takes an action that the scheduler advised for the job; answers the job that was changed. */
export function useAdvisedAction(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ kind, job, changes }: AdvisedAction): Promise<Job> => {
      if (kind === "pause_job") return unwrap(api.POST("/api/v1/jobs/{id}/pause", { params: { path: { id: job ?? "" } } }));
      const { priority, min_workers, max_workers, n_workers, gpu_types } = changes;
      const body = { priority, min_workers, max_workers, n_workers, gpu_types };
      return unwrap(api.PATCH("/api/v1/jobs/{id}", { params: { path: { id } }, body }));
    },
    onSettled: () =>
      Promise.all(
        [["job", id], ["jobs"], ["why", id], ["queue"]].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
}

/** Does one thing to a job; answers the job (the new one after a clone). */
export function useJobAction(id: string) {
  const client = useQueryClient();
  const params = { params: { path: { id } } };
  const send: Record<JobVerb, () => Promise<Job>> = {
    cancel: () => unwrap(api.POST("/api/v1/jobs/{id}/cancel", params)),
    pause: () => unwrap(api.POST("/api/v1/jobs/{id}/pause", params)),
    resume: () => unwrap(api.POST("/api/v1/jobs/{id}/resume", params)),
    clone: () => unwrap(api.POST("/api/v1/jobs/{id}/clone", { ...params, body: {} })),
  };
  return useMutation({
    mutationFn: (verb: JobVerb) => send[verb](),
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["job", id] }),
        client.invalidateQueries({ queryKey: ["jobs"] }),
      ]),
  });
}
