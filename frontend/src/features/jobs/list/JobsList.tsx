// SPDX-License-Identifier: Apache-2.0
// The jobs as a table on wide screens and as cards on phones.
import { Anchor, Box, Card, Group, Progress, Stack, Table, Text } from "@mantine/core";
import { Link } from "react-router";

import { JobStateBadge } from "@/components/display/JobStateBadge";
import { PredictedTime } from "@/components/display/PredictedTime";
import { RelativeTime } from "@/components/display/RelativeTime";
import { headlineMetric, shapeOf } from "@/features/jobs/format";
import type { JobRow } from "@/features/jobs/queries";
import { number, percent } from "@/lib/quantities";
import { duration } from "@/lib/time";

import classes from "./JobsList.module.css";

export function JobsList({ jobs }: { jobs: readonly JobRow[] }) {
  return (
    <>
      <Table.ScrollContainer minWidth={960} type="native" visibleFrom="sm">
        <Table verticalSpacing="xs" highlightOnHover aria-label="Jobs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Job</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th>Progress</Table.Th>
              <Table.Th>Workers</Table.Th>
              <Table.Th>Submitted</Table.Th>
              <Table.Th>Pending / training</Table.Th>
              <Table.Th>Finish or result</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {jobs.map((job) => (
              <Row key={job.id} job={job} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Stack gap="sm" hiddenFrom="sm" component="ul" className={classes.list} aria-label="Jobs">
        {jobs.map((job) => (
          <JobCard key={job.id} job={job} />
        ))}
      </Stack>
    </>
  );
}

function Row({ job }: { job: JobRow }) {
  return (
    <Table.Tr>
      <Table.Td className={classes.wide}>
        <Name job={job} />
        <PendingReason job={job} />
      </Table.Td>
      <Table.Td miw={112}>
        <JobStateBadge state={job.state} />
      </Table.Td>
      <Table.Td miw={120}>
        <Bar job={job} />
      </Table.Td>
      <Table.Td miw={160}>{shapeOf(job)}</Table.Td>
      <Table.Td>
        <RelativeTime at={job.submitted_at} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>{times(job)}</Table.Td>
      <Table.Td>
        <Outcome job={job} />
      </Table.Td>
    </Table.Tr>
  );
}

function JobCard({ job }: { job: JobRow }) {
  return (
    <Card component="li" withBorder padding="sm">
      <Group justify="space-between" wrap="nowrap" align="start" gap="xs">
        <Name job={job} />
        <Box flex="none">
          <JobStateBadge state={job.state} />
        </Box>
      </Group>
      <PendingReason job={job} />
      <Bar job={job} />
      <Text size="sm" c="dimmed" mt={4}>
        {shapeOf(job)} · submitted <RelativeTime at={job.submitted_at} /> · pending / training {times(job)}
      </Text>
      <Text size="sm" component="div">
        <Outcome job={job} />
      </Text>
    </Card>
  );
}

function Name({ job }: { job: JobRow }) {
  return (
    <div className={classes.name}>
      <Anchor component={Link} to={`/jobs/${job.id}`} fw={600} size="sm">
        {job.name}
      </Anchor>
      <Text size="xs" c="dimmed">
        {job.project.organisation.name} / {job.project.name}
      </Text>
    </div>
  );
}

function PendingReason({ job }: { job: JobRow }) {
  const reason = job.explanations[0];
  if (job.state !== "queued" || reason === undefined) return null;
  return (
    <Text size="xs" mt={2}>
      {reason.sentence}
    </Text>
  );
}

function Bar({ job }: { job: JobRow }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Progress.Root size="sm" flex={1}>
        <Progress.Section value={job.progress * 100} aria-label={`Progress of ${job.name}`} />
      </Progress.Root>
      <Text size="xs" c="dimmed" className={classes.percent} miw={40} ta="right">
        {percent(job.progress)}
      </Text>
    </Group>
  );
}

function times(job: JobRow): string {
  return `${duration(job.waited_s)} / ${duration(job.trained_s)}`;
}

function Outcome({ job }: { job: JobRow }) {
  const metric = headlineMetric(job);
  if (metric !== null) return <>{`${metric[0]} ${number(metric[1])}`}</>;
  if (job.failure !== null) return <Text size="sm">{job.failure.message}</Text>;
  if (job.finished_at !== null) return <RelativeTime at={job.finished_at} />;
  if (job.predicted_finish_at === null) return <>–</>;
  return (
    <>
      finish <PredictedTime at={job.predicted_finish_at} />
    </>
  );
}
