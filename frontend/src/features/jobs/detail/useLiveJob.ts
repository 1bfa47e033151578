// SPDX-License-Identifier: Apache-2.0
// A job's page data: read over REST first, then kept current by the job's stream. Nothing lost, nothing doubled.
import { type Query, type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { jobQuery } from "@/api/jobs";
import { useStream } from "@/api/live/stream";
import type { Event, Job, JobDetail, LogLine } from "@/api/types";
import type { KeyedPoint } from "@/lib/curves/series";

import { addEvent, liveKey, liveStartQuery } from "./liveParts";
import { addLines } from "./logs/logQueries";
import { addPoints } from "./metrics/metricQueries";

const SAMPLES_SENT_MS = 10_000;

export function useLiveJob(id: string) {
  const client = useQueryClient();
  const job = useQuery(jobQuery(id));
  const start = useQuery(liveStartQuery(client, id)).data;

  // What comes while no page listens is missed: one that is opened again reads it anew.
  useEffect(() => () => void client.invalidateQueries({ queryKey: liveKey(id), refetchType: "none" }), [client, id]);

  const refresh = () => {
    void client.invalidateQueries({ queryKey: ["job", id] });
    void client.invalidateQueries({ queryKey: liveKey(id) });
  };
  const stream = useStream(
    start === undefined || start.isSettled ? null : `/api/v1/jobs/${id}/stream`,
    {
      job: (data) => {
        updateJob(client, data as Job);
        renewUsage(client, id);
      },
      event: (data) => addEvent(client, id, data as Event),
      metrics: (data) => addPoints(client, id, (data as { points: KeyedPoint[] }).points),
      log: (data) => addLines(client, id, (data as { lines: LogLine[] }).lines),
      gap: refresh,
    },
    { lastEventId: start?.cursor },
  );
  return { job, stream, refresh };
}

/** A frame of the stream is the job as lists show it; its attempts are read again when they changed. */
function updateJob(client: QueryClient, job: Job): void {
  const key = jobQuery(job.id).queryKey;
  const known = client.getQueryData(key);
  if (known === undefined) return;
  client.setQueryData(key, withCurrentAttempt({ ...known, ...job }));
  const isNew = known.state !== job.state || known.current_attempt?.id !== job.current_attempt?.id;
  if (isNew) void client.invalidateQueries({ queryKey: key });
}

/** Pods send their samples every few seconds, which frames do not carry: they are read again as often. */
function renewUsage(client: QueryClient, id: string): void {
  const queryKey = ["job", id, "usage"];
  const predicate = (query: Query) => Date.now() - query.state.dataUpdatedAt > SAMPLES_SENT_MS;
  void client.invalidateQueries({ queryKey, predicate });
}

function withCurrentAttempt(job: JobDetail): JobDetail {
  const current = job.current_attempt;
  if (current === null) return job;
  const others = job.attempts.filter((attempt) => attempt.id !== current.id);
  return { ...job, attempts: [...others, current].sort((a, b) => a.number - b.number) };
}
