// SPDX-License-Identifier: Apache-2.0
// A job's state as a coloured word.
import { Badge } from "@mantine/core";

import type { JobState } from "@/api/types";
import { JOB_STATES } from "@/domain/jobState";

export function JobStateBadge({ state }: { state: JobState }) {
  const { label, color } = JOB_STATES[state];
  return <Badge color={color}>{label}</Badge>;
}
