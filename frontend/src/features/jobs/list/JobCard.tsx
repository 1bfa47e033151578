// SPDX-License-Identifier: Apache-2.0
// One job of the list on a phone.
import { Box, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { JobStateBadge } from "@/components/display/JobStateBadge";
import { RelativeTime } from "@/components/display/RelativeTime";
import { shapeOf } from "@/features/jobs/format";
import { duration } from "@/lib/time";

import { JobBar, JobName, Outcome, Tags } from "./columns";
import type { JobRow } from "./tableRows";
import classes from "./JobTable.module.css";

export function JobCard({ job, select }: { job: JobRow; select: ReactNode }) {
  return (
    <div role="cell">
      <Group justify="space-between" wrap="nowrap" align="start" gap="xs">
        <Group gap="xs" wrap="nowrap" miw={0}>
          {select}
          <div className={classes.cardName}>
            <JobName job={job} />
          </div>
        </Group>
        <Box flex="none">
          <JobStateBadge state={job.state} />
        </Box>
      </Group>
      <JobBar job={job} />
      <Text size="xs" c="dimmed">
        {job.created_by.username} · {shapeOf(job)} · <RelativeTime at={job.submitted_at} /> · {duration(job.waited_s)} /{" "}
        {duration(job.trained_s)}
      </Text>
      <Text size="sm" component="div">
        <Outcome job={job} /> <Tags tags={job.tags} />
      </Text>
    </div>
  );
}
