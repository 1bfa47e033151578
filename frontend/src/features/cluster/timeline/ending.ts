// SPDX-License-Identifier: Apache-2.0
// Why a bar of the timeline ends where it does: how its attempt ended, and what the scheduler decided then.
import { t } from "@lingui/core/macro";

import type { Attempt, Decision, JobDetail } from "@/api/types";
import { FAILURE_CAUSES } from "@/domain/failureCause";

import type { Bar } from "./rows";

/** Between what the timeline rounds and what the job has. */
const ROUNDED_MS = 1000;
/** A decision is carried out after it was made: its attempt saves a checkpoint first. */
const ENDING = new Set<Decision["decision"]>(["preempt", "resize"]);

/** Whether the bar is one attempt of a job that the reader sees, and may have ended. */
export function mayHaveEnded(bar: Bar): bar is Bar & { job: NonNullable<Bar["job"]> } {
  return bar.job !== undefined && bar.n === 1 && bar.p50S === null;
}

/** since: the beginning of the timeline. */
export function attemptOf(bar: Bar, since: string, { attempts }: Pick<JobDetail, "attempts">): Attempt | undefined {
  const [from, to] = [bar.sinceS, bar.untilS].map((seconds) => Date.parse(since) + 1000 * seconds) as [number, number];
  return attempts.find(
    ({ created_at, ended_at, placement }) =>
      placement.some(({ node }) => node === bar.node) &&
      Date.parse(created_at) <= from + ROUNDED_MS &&
      (ended_at === null || Date.parse(ended_at) >= to - ROUNDED_MS),
  );
}

/** What was decided last on the job while the attempt ran, and ended it. history: the newest first. */
export function decisionThatEnded(attempt: Attempt, history: readonly Decision[]): Decision | undefined {
  if (attempt.ended_at === null || (attempt.outcome !== "preempted" && attempt.outcome !== "stopped")) return undefined;
  const [from, to] = [Date.parse(attempt.created_at), Date.parse(attempt.ended_at)];
  return history.find(({ at, decision }) => ENDING.has(decision) && from <= Date.parse(at) && Date.parse(at) <= to);
}

const OUTCOMES: Record<string, string> = {
  succeeded: t`It was done.`,
  preempted: t`It was preempted.`,
  stopped: t`It was stopped.`,
  failed: t`It failed.`,
};

/** In sentences; "" while it runs. */
export function endingText(attempt: Attempt, history: readonly Decision[]): string {
  if (attempt.ended_at === null) return "";
  const decision = decisionThatEnded(attempt, history);
  const said = [
    decision === undefined ? (OUTCOMES[attempt.outcome] ?? "") : decision.decision === "resize" ? t`It was stopped to go on with another size.` : t`It was preempted.`,
    attempt.cause === "" || attempt.cause === "preempted" ? "" : t`Cause: ${FAILURE_CAUSES[attempt.cause]}.`,
    attempt.message,
    ...(decision?.explanations.map(({ sentence }) => sentence) ?? []),
  ];
  return [...new Set(said)].filter(Boolean).join(" ");
}
