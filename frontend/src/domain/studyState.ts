// SPDX-License-Identifier: Apache-2.0
// The states of studies and trials: all that the dashboard says and does by them is declared here, once.
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
  running: { label: "Running", color: "indigo", verbs: ["pause", "stop"], isOver: false },
  paused: { label: "Paused", color: "violet", verbs: ["resume", "stop"], isOver: false },
  completed: { label: "Completed", color: "teal", verbs: [], isOver: true },
  stopped: { label: "Stopped", color: "gray", verbs: [], isOver: true },
  failed: { label: "Failed", color: "red", verbs: [], isOver: true },
};

export const TRIAL_STATUSES: Record<TrialStatus, { label: string; color: BadgeColor }> = {
  running: { label: "Running", color: "indigo" },
  waiting: { label: "Waits at its rung", color: "violet" },
  completed: { label: "Completed", color: "teal" },
  failed: { label: "Failed", color: "red" },
  stopped: { label: "Stopped", color: "gray" },
};
