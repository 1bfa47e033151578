// SPDX-License-Identifier: Apache-2.0
// What can be said of a job that is pending: since when, what it waits for, and whether its predicted start means anything.
import { t } from "@lingui/core/macro";

import type { Explanation, Job } from "@/api/types";
import { duration } from "@/lib/time";

type Pending = Pick<Job, "submitted_at" | "preflight" | "validation_problem" | "current_attempt">;

/** A predicted start that is nearer than this and has not come is no prediction: something else holds the job. */
const MEANINGLESS_S = 10;

/** Validation and a first round end within it, unless something is wrong. */
const USUAL_S = 60;

/** From submission on, or from the end of its last attempt. In milliseconds. */
function pendingSince({ submitted_at, current_attempt }: Pending): number {
  return Math.max(Date.parse(submitted_at), Date.parse(current_attempt?.ended_at ?? submitted_at));
}

/** What a pending job waits for while the scheduler has given no reason yet. now: in milliseconds. */
export function pendingText(job: Pending, now: number): string {
  const pending_s = Math.max(0, (now - pendingSince(job)) / 1000);
  const isUsual = pending_s < USUAL_S;
  if (job.preflight === "pending" && job.validation_problem !== "") {
    return t`The platform could not validate the model and data, and tries again: ${job.validation_problem}`;
  }
  if (job.preflight === "pending") {
    return isUsual
      ? t`The model and data are being validated.`
      : t`The model and data have not been validated for ${duration(pending_s)}. Code that imports or builds slowly takes long; ` +
          t`tell an administrator if this does not end.`;
  }
  return isUsual
    ? t`The scheduler considers it in its next round.`
    : t`No scheduling round has considered it for ${duration(pending_s)}. The Queue page shows when the last round was; ` +
        t`tell an administrator if that is long ago.`;
}

/** The predicted start of a pending job; null when there is none, or when its time has come without a start. */
export function meaningfulStart(predicted_start_at: string | null, now: number): string | null {
  if (predicted_start_at === null) return null;
  return Date.parse(predicted_start_at) - now < MEANINGLESS_S * 1000 ? null : predicted_start_at;
}

/** When the pause of admission ends that keeps a job pending; null where it is another reason, or no end is given. */
export function endOfPause(explanations: readonly Explanation[], now: number): string | null {
  const until_s = explanations.find(({ reason }) => reason === "admission_paused")?.facts["until_s"];
  return typeof until_s === "number" && until_s * 1000 > now ? new Date(until_s * 1000).toISOString() : null;
}
