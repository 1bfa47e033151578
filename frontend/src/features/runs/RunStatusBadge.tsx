// SPDX-License-Identifier: Apache-2.0
// What the client last said of a run, as a coloured word.
import { t } from "@lingui/core/macro";
import { Badge } from "@mantine/core";

import type { RunStatus } from "@/api/types";

const STATUSES: Record<RunStatus, { label: string; color: string }> = {
  RUNNING: { label: t`Running`, color: "blue" },
  SCHEDULED: { label: t`Scheduled`, color: "gray" },
  FINISHED: { label: t`Finished`, color: "teal" },
  FAILED: { label: t`Failed`, color: "red" },
  KILLED: { label: t`Killed`, color: "orange" },
};

export function RunStatusBadge({ status }: { status: RunStatus }) {
  const { label, color } = STATUSES[status];
  return <Badge color={color}>{label}</Badge>;
}
