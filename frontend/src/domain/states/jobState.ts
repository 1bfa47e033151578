// SPDX-License-Identifier: Apache-2.0
// A job's states: all that the dashboard says and does by a state is declared here, once.
import { t } from "@lingui/core/macro";

import type { JobState } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

export type JobVerb = "cancel" | "pause" | "resume" | "clone";

interface StateDeclaration {
  label: string;
  color: BadgeColor;
  sign: StateSign;
  /** moving: progress changes by itself. waiting: nothing runs. over: it stays as it is. */
  phase: "waiting" | "moving" | "over";
  /** What may be done to the job then, besides cloning it. */
  verbs: readonly JobVerb[];
}

export const JOB_STATES: Record<JobState, StateDeclaration> = {
  queued: { label: t`Pending`, color: "gray", sign: "waiting", phase: "waiting", verbs: ["pause", "cancel"] },
  starting: { label: t`Starting`, color: "yellow", sign: "starting", phase: "moving", verbs: ["pause", "cancel"] },
  running: { label: t`Running`, color: "indigo", sign: "running", phase: "moving", verbs: ["pause", "cancel"] },
  stopping: { label: t`Stopping`, color: "orange", sign: "stopping", phase: "moving", verbs: ["pause", "cancel"] },
  paused: { label: t`Paused`, color: "violet", sign: "paused", phase: "waiting", verbs: ["resume", "cancel"] },
  succeeded: { label: t`Succeeded`, color: "teal", sign: "done", phase: "over", verbs: [] },
  failed: { label: t`Failed`, color: "red", sign: "failed", phase: "over", verbs: ["resume"] },
  cancelled: { label: t`Cancelled`, color: "gray", sign: "struck", phase: "over", verbs: [] },
};

interface WithState {
  state: JobState;
}

export function isMoving({ state }: WithState): boolean {
  return JOB_STATES[state].phase === "moving";
}

export function isOver({ state }: WithState): boolean {
  return JOB_STATES[state].phase === "over";
}

/** The label of a state that came as free text, such as in an event; other text stays as it is. */
export function stateLabel(text: string): string {
  return text in JOB_STATES ? JOB_STATES[text as JobState].label : text;
}
