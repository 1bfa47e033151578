// SPDX-License-Identifier: Apache-2.0
// The states of the policy lab's replays: all that the dashboard says and does by them is declared here, once.
import { t } from "@lingui/core/macro";

import type { ReplayState } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

export const REPLAY_STATES: Record<ReplayState, { label: string; color: BadgeColor; sign: StateSign; isOver: boolean }> = {
  queued: { label: t`Queued`, color: "gray", sign: "waiting", isOver: false },
  running: { label: t`Running`, color: "indigo", sign: "running", isOver: false },
  succeeded: { label: t`Succeeded`, color: "teal", sign: "done", isOver: true },
  failed: { label: t`Failed`, color: "red", sign: "failed", isOver: true },
  cancelled: { label: t`Cancelled`, color: "gray", sign: "struck", isOver: true },
};
