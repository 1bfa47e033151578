// SPDX-License-Identifier: Apache-2.0
// The states of studies and trials: all that the dashboard says and does by them is declared here, once.
import { t } from "@lingui/core/macro";

import type { StudyState, TrialStatus } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

export type StudyVerb = "pause" | "resume" | "stop";

interface StudyDeclaration {
  label: string;
  color: BadgeColor;
  sign: StateSign;
  verbs: readonly StudyVerb[];
  isOver: boolean;
  /** Whether its budget may be raised, after which it goes on. */
  isExtensible: boolean;
}

export const STUDY_STATES: Record<StudyState, StudyDeclaration> = {
  running: { label: t`Running`, color: "indigo", sign: "running", verbs: ["pause", "stop"], isOver: false, isExtensible: true },
  paused: { label: t`Paused`, color: "violet", sign: "paused", verbs: ["resume", "stop"], isOver: false, isExtensible: true },
  completed: { label: t`Completed`, color: "teal", sign: "done", verbs: [], isOver: true, isExtensible: true },
  stopped: { label: t`Stopped`, color: "gray", sign: "struck", verbs: [], isOver: true, isExtensible: false },
  failed: { label: t`Failed`, color: "red", sign: "failed", verbs: [], isOver: true, isExtensible: false },
};

export const TRIAL_STATUSES: Record<TrialStatus, { label: string; color: BadgeColor; sign: StateSign }> = {
  running: { label: t`Running`, color: "indigo", sign: "running" },
  waiting: { label: t`Waits at its rung`, color: "violet", sign: "waiting" },
  completed: { label: t`Completed`, color: "teal", sign: "done" },
  failed: { label: t`Failed`, color: "red", sign: "failed" },
  stopped: { label: t`Stopped`, color: "gray", sign: "struck" },
};
