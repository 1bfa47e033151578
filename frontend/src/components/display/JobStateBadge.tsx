// SPDX-License-Identifier: Apache-2.0
// A job's state as icon, word and colour.
import type { JobState } from "@/api/types";
import { JOB_STATES } from "@/domain/states/jobState";

import { StateBadge } from "./StateBadge";

export function JobStateBadge({ state }: { state: JobState }) {
  return <StateBadge {...JOB_STATES[state]} />;
}
