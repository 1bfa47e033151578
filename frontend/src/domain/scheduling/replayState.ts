// SPDX-License-Identifier: Apache-2.0
// The states of the policy lab's replays: all that the dashboard says and does by them is declared here, once.
import { t } from "@lingui/core/macro";

import type { ReplayState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const REPLAY_STATES: Record<ReplayState, { label: string; color: BadgeColor; isOver: boolean }> = {
  queued: { label: t`Queued`, color: "gray", isOver: false },
  running: { label: t`Running`, color: "indigo", isOver: false },
  succeeded: { label: t`Succeeded`, color: "teal", isOver: true },
  failed: { label: t`Failed`, color: "red", isOver: true },
  cancelled: { label: t`Cancelled`, color: "gray", isOver: true },
};
