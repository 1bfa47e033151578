// A job's state as a coloured word; the record is exhaustive, so a new state fails to compile.
import { Badge } from "@mantine/core";

import type { JobState } from "@/api/types";

interface Look {
  label: string;
  color: string;
}

export const JOB_STATES: Record<JobState, Look> = {
  queued: { label: "Queued", color: "gray" },
  starting: { label: "Starting", color: "cyan" },
  running: { label: "Running", color: "indigo" },
  stopping: { label: "Stopping", color: "orange" },
  paused: { label: "Paused", color: "yellow" },
  succeeded: { label: "Succeeded", color: "teal" },
  failed: { label: "Failed", color: "red" },
  cancelled: { label: "Cancelled", color: "gray" },
};

export function JobStateBadge({ state }: { state: JobState }) {
  const { label, color } = JOB_STATES[state];
  return <Badge color={color}>{label}</Badge>;
}
