// SPDX-License-Identifier: Apache-2.0
// What the client last said of a run, as icon, word and colour.
import { t } from "@lingui/core/macro";

import type { RunStatus } from "@/api/types";
import { StateBadge } from "./StateBadge";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

const STATUSES: Record<RunStatus, { label: string; color: BadgeColor; sign: StateSign }> = {
  RUNNING: { label: t`Running`, color: "indigo", sign: "running" },
  SCHEDULED: { label: t`Scheduled`, color: "gray", sign: "waiting" },
  FINISHED: { label: t`Finished`, color: "teal", sign: "done" },
  FAILED: { label: t`Failed`, color: "red", sign: "failed" },
  KILLED: { label: t`Killed`, color: "orange", sign: "struck" },
};

export function RunStatusBadge({ status }: { status: RunStatus }) {
  return <StateBadge {...STATUSES[status]} />;
}
