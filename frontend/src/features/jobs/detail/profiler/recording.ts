// SPDX-License-Identifier: Apache-2.0
// What a recording's state means, the ranks that somebody wrote, and the parts of its steps.
import { t } from "@lingui/core/macro";

import type { Profile, ProfileTraceDetail } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

type State = Profile["state"];

/** Labels are asked for where they are shown: the language may change. */
export const STATES: Record<State, { label: () => string; color: BadgeColor; sign: StateSign }> = {
  waiting: { label: () => t`waiting for its workers`, color: "gray", sign: "waiting" },
  recording: { label: () => t`recording`, color: "indigo", sign: "running" },
  done: { label: () => t`recorded`, color: "teal", sign: "done" },
  failed: { label: () => t`failed`, color: "red", sign: "failed" },
};

export function isOpen({ state }: { state: State }): boolean {
  return state === "waiting" || state === "recording";
}

/** [0, 2, 3, 4] of "0, 2-4"; what is no number stays one that the platform refuses by its place. */
export function ranksOf(text: string): number[] {
  const words = text.split(/[\s,;]+/).filter((word) => word !== "");
  return words.flatMap((word) => {
    const range = /^(\d+)[-–](\d+)$/.exec(word);
    const [first, last] = range === null ? [word, word] : [range[1] ?? "", range[2] ?? ""];
    if (!/^\d+$/.test(first) || Number(last) < Number(first)) return [-1];
    return Array.from({ length: Math.min(MOST_RANKS, Number(last) - Number(first) + 1) }, (_, at) => Number(first) + at);
  });
}

/** Of one range: more than the platform records at once. */
const MOST_RANKS = 1000;

type Pod = Pick<ProfileTraceDetail, "role" | "rank">;

export function podName({ role, rank }: Pod): string {
  return role === "server" ? t`Server ${rank}` : t`Worker ${rank}`;
}

/** Where a pod's trace is, below the recording's own address. */
export function tracePath({ role, rank }: Pod): string {
  return `${role === "server" ? "server-traces" : "traces"}/${rank}`;
}

export interface RecordedPart {
  name: "input" | "compute" | "sync" | "wait";
  label: string;
  seconds: number;
  share: number;
}

/** Means of a step, in the order of a step; without what took no time. */
export function recordedParts({ step_s: total, n_steps }: Pick<ProfileTraceDetail, "step_s" | "n_steps">): RecordedPart[] {
  if (total === null || total === undefined || n_steps === 0) return [];
  const labels = { input: t`Reading`, compute: t`Computing`, sync: t`Synchronising`, wait: t`Waiting for others` };
  const whole = total.input + total.compute + total.sync + total.wait;
  return (["input", "compute", "sync", "wait"] as const)
    .map((name) => ({ name, label: labels[name], seconds: total[name] / n_steps, share: whole > 0 ? total[name] / whole : 0 }))
    .filter(({ share }) => share > 0);
}
