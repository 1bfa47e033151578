// SPDX-License-Identifier: Apache-2.0
// One verb on many jobs: what it would mean for them, and doing it, some hundred at a time.
import { plural, t } from "@lingui/core/macro";

import { api, unwrap } from "@/api/client";
import type { components } from "@/api/schema";
import { isOver } from "@/domain/states/jobState";

import type { JobRow } from "../tableRows";

export type BulkAction = components["schemas"]["BulkRequestRequest"]["action"];
export type Outcome = components["schemas"]["JobOutcome"];

const AT_ONCE = 100;

/** What the act means for these jobs, as sentences: for those that it changes, and for those that it leaves as they are. */
export function consequences(action: BulkAction, jobs: readonly JobRow[]): string[] {
  const over = jobs.filter(isOver);
  const holding = jobs.filter((job) => !isOver(job) && job.current_attempt !== null && job.current_attempt.ended_at === null);
  const others = jobs.filter((job) => !isOver(job) && !holding.includes(job));
  const some = (found: readonly JobRow[], sentence: string) => (found.length > 0 ? [`${plural(found.length, { one: "# job", other: "# jobs" })}: ${sentence}`] : []);
  switch (action) {
    case "cancel":
      return [
        ...some(holding, t`training stops, and ${gpusOf(holding)} are given back. Curves and logs stay; they cannot be resumed.`),
        ...some(others, t`they leave the queue for good.`),
        ...some(over, t`they have ended, and stay as they are.`),
      ];
    case "pause":
      return [
        ...some(holding, t`each saves a checkpoint and gives its GPUs back, ${gpusOf(holding)} in all, until it is resumed.`),
        ...some(others, t`they wait outside the queue until they are resumed.`),
        ...some(over, t`they have ended, and are refused.`),
      ];
    case "resume": {
      const failed = over.filter(({ state }) => state === "failed");
      return [
        ...some([...others, ...failed], t`back to the queue, to go on from the newest checkpoint.`),
        ...some(holding, t`they run already, or are asked to go on.`),
        ...some(over.filter((job) => !failed.includes(job)), t`they have ended, and are refused.`),
      ];
    }
    case "priority":
      return [
        ...some(others, t`the next scheduling round serves those with a higher priority first.`),
        ...some(holding, t`they run already: a lower priority may let others take their GPUs, which they leave with a checkpoint.`),
        ...some(over, t`they have ended, and are refused.`),
      ];
    case "delete":
      return [
        ...some(over, t`deleted for good, with attempts, curves, logs, checkpoints and predictions. Trained models stay.`),
        ...some(jobs.filter((job) => !isOver(job)), t`they have not ended, and are refused: cancel them first.`),
      ];
    default:
      return [t`Tags change nothing of what jobs do.`];
  }
}

/** What some actions take besides the jobs: the tag, "" where there is none, or the priority. */
export interface Value {
  tag: string;
  priority?: number;
}

/** Does it to all of them. onProgress: how many have been answered so far. */
export async function act(
  action: BulkAction,
  ids: readonly string[],
  value: Value,
  onProgress: (n: number) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    const body = { action, jobs: ids.slice(first, first + AT_ONCE), ...value };
    outcomes.push(...(await unwrap(api.POST("/api/v1/jobs/bulk", { body }))).outcomes);
    onProgress(outcomes.length);
  }
  return outcomes;
}

/** An act that takes another one back, on the jobs that the other one changed. */
export interface Undo {
  action: "pause" | "resume" | "tag" | "untag" | "priority";
  ids: readonly string[];
  tag: string;
  /** Of the action priority: which one each job had. */
  former?: ReadonlyMap<string, number>;
}

/** Takes an act back. */
export async function takeBack({ action, ids, tag, former }: Undo): Promise<Outcome[]> {
  if (former === undefined) return act(action, ids, { tag }, () => undefined);
  const outcomes: Outcome[] = [];
  for (const priority of new Set(former.values())) {
    const of = ids.filter((id) => former.get(id) === priority);
    outcomes.push(...(await act(action, of, { tag, priority }, () => undefined)));
  }
  return outcomes;
}

/** What takes the act back; null where nothing does, or where it changed nothing. jobs: as they were before it. */
export function undoOf(action: BulkAction, jobs: readonly JobRow[], { tag, priority }: Value, outcomes: readonly Outcome[]): Undo | null {
  const refused = new Set(outcomes.flatMap(({ id, refusal }) => (refusal === "" ? [] : [id])));
  const isPaused = ({ state, intent }: JobRow) => state === "paused" || intent === "pause";
  const undo = (back: Undo["action"], isChanged: (job: JobRow) => boolean): Undo | null => {
    const ids = jobs.filter((job) => !refused.has(job.id) && isChanged(job)).map(({ id }) => id);
    return ids.length > 0 ? { action: back, ids, tag } : null;
  };
  switch (action) {
    case "pause":
      return undo("resume", (job) => !isOver(job) && !isPaused(job));
    case "resume": // a failed job that goes on would only stop again: it is cancelled, not paused
      return undo("pause", isPaused);
    case "tag":
      return undo("untag", ({ tags }) => !tags.includes(tag));
    case "untag":
      return undo("tag", ({ tags }) => tags.includes(tag));
    case "priority": {
      const back = undo("priority", (job) => job.priority !== priority);
      return back && { ...back, former: new Map(jobs.map((job) => [job.id, job.priority])) };
    }
    default:
      return null;
  }
}

function gpusOf(jobs: readonly JobRow[]): string {
  const n = jobs.reduce((sum, { current_attempt }) => sum + (current_attempt?.n_workers ?? 0), 0);
  return plural(n, { one: "# GPU", other: "# GPUs" });
}
