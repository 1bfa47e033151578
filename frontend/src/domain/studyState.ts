// SPDX-License-Identifier: Apache-2.0
// The states of studies and trials: all that the dashboard says and does by them is declared here, once.
import { t } from "@lingui/core/macro";

import type { StudyState, TrialStatus } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export type StudyVerb = "pause" | "resume" | "stop";

interface StudyDeclaration {
  label: string;
  color: BadgeColor;
  verbs: readonly StudyVerb[];
  isOver: boolean;
}

export const STUDY_STATES: Record<StudyState, StudyDeclaration> = {
  running: { label: t`Running`, color: "indigo", verbs: ["pause", "stop"], isOver: false },
  paused: { label: t`Paused`, color: "violet", verbs: ["resume", "stop"], isOver: false },
  completed: { label: t`Completed`, color: "teal", verbs: [], isOver: true },
  stopped: { label: t`Stopped`, color: "gray", verbs: [], isOver: true },
  failed: { label: t`Failed`, color: "red", verbs: [], isOver: true },
};

export const TRIAL_STATUSES: Record<TrialStatus, { label: string; color: BadgeColor }> = {
  running: { label: t`Running`, color: "indigo" },
  waiting: { label: t`Waits at its rung`, color: "violet" },
  completed: { label: t`Completed`, color: "teal" },
  failed: { label: t`Failed`, color: "red" },
  stopped: { label: t`Stopped`, color: "gray" },
};
