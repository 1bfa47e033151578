// SPDX-License-Identifier: Apache-2.0
// Which checkpoints of a job may be deleted, and which of them lie in a range.
import type { Checkpoint, Job } from "@/api/types";

/** The API deletes in one go what is asked, or nothing; it takes so many. */
export const MOST_AT_ONCE = 10_000;

export function isEnded({ state }: Pick<Job, "state">): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}

/** Not the pinned ones, nor, of a job that goes on, what it continues from and what its model may be made of. */
export function deletableOf(job: Pick<Job, "state">, checkpoints: readonly Checkpoint[]): Checkpoint[] {
  const free = checkpoints.filter(({ is_reachable, is_pinned }) => is_reachable && !is_pinned);
  if (isEnded(job)) return free;
  const newest = checkpoints.find(({ is_best }) => !is_best); // they come newest first
  return free.filter(({ id, is_best }) => !is_best && id !== newest?.id);
}

export function withinSteps(checkpoints: readonly Checkpoint[], from: number, to: number): number[] {
  const [low, high] = from <= to ? [from, to] : [to, from];
  return checkpoints.filter(({ step }) => step >= low && step <= high).map(({ id }) => id);
}

/** Those from one row of the table to another, both included. */
export function between(checkpoints: readonly Checkpoint[], one: number, other: number): number[] {
  const ids = checkpoints.map(({ id }) => id);
  const [a, b] = [ids.indexOf(one), ids.indexOf(other)];
  if (a < 0 || b < 0) return [other];
  return ids.slice(Math.min(a, b), Math.max(a, b) + 1);
}
