// SPDX-License-Identifier: Apache-2.0
// A job's move in the queue: where it is asked to be, and how one asks for that.
import type { QueuedJob, QueueMove } from "@/api/types";

/** `neighbour`: the job before which, or behind which, `job` shall be served. */
export interface Move {
  job: QueuedJob;
  neighbour: QueuedJob;
  side: "before" | "after";
}

/** A move that was made, by another priority. */
export interface Moved {
  job: QueuedJob;
  priority: number;
  formerPriority: number;
}

/** The move of the job `id` to between the jobs at `gap - 1` and `gap` of the list; null when it is there. */
export function moveTo(jobs: readonly QueuedJob[], id: string, gap: number): Move | null {
  const from = jobs.findIndex((job) => job.id === id);
  const job = jobs[from];
  if (job === undefined || gap === from || gap === from + 1) return null;
  const side = gap < from ? "before" : "after";
  const neighbour = jobs[side === "before" ? gap : gap - 1];
  return neighbour === undefined ? null : { job, neighbour, side };
}

export function requestOf({ job, neighbour, side }: Move): QueueMove {
  return side === "before" ? { job: job.id, before: neighbour.id } : { job: job.id, after: neighbour.id };
}
