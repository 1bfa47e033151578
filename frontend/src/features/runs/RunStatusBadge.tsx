// SPDX-License-Identifier: Apache-2.0
// What the client last said of a run, as a coloured word.
import { Badge } from "@mantine/core";

import type { RunStatus } from "@/api/types";

const STATUSES: Record<RunStatus, { label: string; color: string }> = {
  RUNNING: { label: "Running", color: "blue" },
  SCHEDULED: { label: "Scheduled", color: "gray" },
  FINISHED: { label: "Finished", color: "teal" },
  FAILED: { label: "Failed", color: "red" },
  KILLED: { label: "Killed", color: "orange" },
};

export function RunStatusBadge({ status }: { status: RunStatus }) {
  const { label, color } = STATUSES[status];
  return <Badge color={color}>{label}</Badge>;
}
