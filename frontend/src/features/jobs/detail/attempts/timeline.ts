// SPDX-License-Identifier: Apache-2.0
// The life of a job as spans of time: waiting, starting, training, stopping, attempt by attempt.
import type { Attempt, JobDetail } from "@/api/types";
import { csvOf } from "@/lib/download";

export type Phase = "waiting" | "starting" | "training" | "stopping";

export interface Span {
  phase: Phase;
  from_ms: number;
  to_ms: number;
}

export interface Row {
  /** null: waiting for the first or the next attempt. */
  attempt: Attempt | null;
  spans: Span[];
}

export interface Timeline {
  from_ms: number;
  to_ms: number;
  rows: Row[];
}

/** now_ms: where what has not ended yet ends for now. */
export function timelineOf(job: JobDetail, now_ms: number): Timeline {
  const from_ms = Date.parse(job.submitted_at);
  const to_ms = Math.max(job.finished_at === null ? now_ms : Date.parse(job.finished_at), from_ms + 1);
  const rows: Row[] = [];
  let free_ms = from_ms;
  for (const attempt of [...job.attempts].sort((a, b) => a.number - b.number)) {
    const spans = [span("waiting", free_ms, Date.parse(attempt.created_at)), ...phasesOf(attempt, to_ms)];
    rows.push({ attempt, spans: spans.filter((one) => one.to_ms > one.from_ms) });
    free_ms = parsed(attempt.ended_at) ?? to_ms;
  }
  const isWaiting = job.state === "queued" || job.state === "paused" || rows.length === 0;
  if (isWaiting && to_ms > free_ms) rows.push({ attempt: null, spans: [span("waiting", free_ms, to_ms)] });
  return { from_ms, to_ms, rows };
}

function phasesOf(attempt: Attempt, now_ms: number): Span[] {
  const ended_ms = parsed(attempt.ended_at) ?? now_ms;
  const leaving_ms = Math.min(parsed(attempt.stop_asked_at) ?? ended_ms, ended_ms);
  const training_ms = Math.min(parsed(attempt.training_at) ?? leaving_ms, leaving_ms);
  return [
    span("starting", Date.parse(attempt.created_at), training_ms),
    span("training", training_ms, leaving_ms),
    span("stopping", leaving_ms, ended_ms),
  ];
}

function span(phase: Phase, from_ms: number, to_ms: number): Span {
  return { phase, from_ms, to_ms };
}

function parsed(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}

/** A row a phase. */
export function csvOfAttempts({ rows }: Timeline): string {
  const at = (ms: number) => new Date(ms).toISOString();
  const spans = rows.flatMap(({ attempt, spans: parts }) => parts.map(({ phase, from_ms, to_ms }) => [attempt?.number, phase, at(from_ms), at(to_ms), (to_ms - from_ms) / 1000]));
  return csvOf([["attempt", "phase", "since", "until", "seconds"], ...spans]);
}
