// SPDX-License-Identifier: Apache-2.0
// The states of the policy lab's replays: all that the dashboard says and does by them is declared here, once.
import type { ReplayState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const REPLAY_STATES: Record<ReplayState, { label: string; color: BadgeColor; isOver: boolean }> = {
  queued: { label: "Queued", color: "gray", isOver: false },
  running: { label: "Running", color: "indigo", isOver: false },
  succeeded: { label: "Succeeded", color: "teal", isOver: true },
  failed: { label: "Failed", color: "red", isOver: true },
  cancelled: { label: "Cancelled", color: "gray", isOver: true },
};
