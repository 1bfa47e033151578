// SPDX-License-Identifier: Apache-2.0
// What a changed quota would do to jobs, in one sentence: from the two plans that the scheduler compared.
import { plural, t } from "@lingui/core/macro";

import type { Effect, WhatIfAnswer } from "@/api/types";
import { ruleName } from "@/features/quotas/ruleText";
import { bytes, number } from "@/lib/quantities";
import { duration } from "@/lib/time";

/** Jobs that start now, give GPUs back, or would have started and now wait. */
export function impactOf(effects: Effect[]): { starts: Effect[]; gives: Effect[]; waits: Effect[] } {
  const decision = (effect: Effect, side: "before" | "after") => effect[side]?.decision ?? "";
  return {
    starts: effects.filter((e) => decision(e, "before") !== "launch" && decision(e, "after") === "launch"),
    gives: effects.filter(
      (e) =>
        (decision(e, "before") !== "preempt" && decision(e, "after") === "preempt") ||
        (decision(e, "after") === "resize" && (e.after?.n_workers ?? 0) < (e.before?.n_workers ?? 0)),
    ),
    waits: effects.filter((e) => decision(e, "before") === "launch" && decision(e, "after") === "wait"),
  };
}

/** "1 running job gives GPUs back; 2 waiting jobs start now." */
export function impactSentence(effects: Effect[]): string {
  const { starts, gives, waits } = impactOf(effects);
  const parts = [
    gives.length > 0 && plural(gives.length, { one: "# running job gives GPUs back", other: "# running jobs give GPUs back" }),
    starts.length > 0 && plural(starts.length, { one: "# waiting job starts now", other: "# waiting jobs start now" }),
    waits.length > 0 && plural(waits.length, { one: "# job that would start now waits", other: "# jobs that would start now wait" }),
  ].filter(Boolean);
  return parts.length > 0 ? `${parts.join("; ")}.` : t`Nothing would change for jobs at present.`;
}

/** Which limit is below its use, and what becomes of what is above it. */
export function belowUseSentence(limit: WhatIfAnswer["below_use"][number], graceS: number): string {
  const shown = limit.limit.endsWith("_bytes") ? bytes : number;
  const [used, amount] = [shown(limit.used), shown(limit.amount)];
  const name = [ruleName(limit.limit), limit.gpu_type].filter(Boolean).join(", ");
  const numbers = t`${name}: ${limit.owner} uses ${used} now, and the limit would be ${amount}.`;
  const grace = duration(graceS);
  const then = limit.drains
    ? t`From the next round on, jobs above it save a checkpoint within ${grace}, and wait; one that is starting does so when it runs.`
    : t`Nothing is stopped or deleted, and what is new is refused until less is used.`;
  return `${numbers} ${then}`;
}
