// SPDX-License-Identifier: Apache-2.0
// One verb on many jobs: what it would mean for them, and doing it, some hundred at a time.
import { api, unwrap } from "@/api/client";
import type { components } from "@/api/schema";
import { isOver } from "@/domain/jobState";
import { count, number } from "@/lib/quantities";

import type { JobRow } from "./tableRows";

export type BulkAction = components["schemas"]["BulkRequestRequest"]["action"];
export type Outcome = components["schemas"]["JobOutcome"];

const AT_ONCE = 100;

/** What the act means for these jobs, as sentences: for those that it changes, and for those that it leaves as they are. */
export function consequences(action: BulkAction, jobs: readonly JobRow[]): string[] {
  const over = jobs.filter(isOver);
  const holding = jobs.filter((job) => !isOver(job) && job.current_attempt !== null && job.current_attempt.ended_at === null);
  const others = jobs.filter((job) => !isOver(job) && !holding.includes(job));
  const some = (found: readonly JobRow[], sentence: string) => (found.length > 0 ? [`${count(found.length, "job")}: ${sentence}`] : []);
  switch (action) {
    case "cancel":
      return [
        ...some(holding, `training stops, and ${gpusOf(holding)} are given back. Curves and logs stay; they cannot be resumed.`),
        ...some(others, "they leave the queue for good."),
        ...some(over, "they have ended, and stay as they are."),
      ];
    case "pause":
      return [
        ...some(holding, `each saves a checkpoint and gives its GPUs back, ${gpusOf(holding)} in all, until it is resumed.`),
        ...some(others, "they wait outside the queue until they are resumed."),
        ...some(over, "they have ended, and are refused."),
      ];
    case "resume": {
      const failed = over.filter(({ state }) => state === "failed");
      return [
        ...some([...others, ...failed], "back to the queue, to go on from the newest checkpoint."),
        ...some(holding, "they run already, or are asked to go on."),
        ...some(over.filter((job) => !failed.includes(job)), "they have ended, and are refused."),
      ];
    }
    case "delete":
      return [
        ...some(over, "deleted for good, with attempts, curves, logs, checkpoints and predictions. Trained models stay."),
        ...some(jobs.filter((job) => !isOver(job)), "they have not ended, and are refused: cancel them first."),
      ];
    default:
      return ["Tags change nothing of what jobs do."];
  }
}

/** Does it to all of them. onProgress: how many have been answered so far. */
export async function act(
  action: BulkAction,
  ids: readonly string[],
  tag: string,
  onProgress: (n: number) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    const body = { action, jobs: ids.slice(first, first + AT_ONCE), tag };
    outcomes.push(...(await unwrap(api.POST("/api/v1/jobs/bulk", { body }))).outcomes);
    onProgress(outcomes.length);
  }
  return outcomes;
}

function gpusOf(jobs: readonly JobRow[]): string {
  const n = jobs.reduce((sum, { current_attempt }) => sum + (current_attempt?.n_workers ?? 0), 0);
  return `${number(n)} GPU${n === 1 ? "" : "s"}`;
}
