// SPDX-License-Identifier: Apache-2.0
// What a changed quota would do to jobs, in one sentence: from the two plans that the scheduler compared.
import type { Effect } from "@/api/types";
import { count } from "@/lib/quantities";

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
    gives.length > 0 && `${count(gives.length, "running job")} ${gives.length === 1 ? "gives" : "give"} GPUs back`,
    starts.length > 0 && `${count(starts.length, "waiting job")} ${starts.length === 1 ? "starts" : "start"} now`,
    waits.length > 0 && `${count(waits.length, "job")} that would start now ${waits.length === 1 ? "waits" : "wait"}`,
  ].filter(Boolean);
  return parts.length > 0 ? `${parts.join("; ")}.` : "Nothing would change for jobs at present.";
}
