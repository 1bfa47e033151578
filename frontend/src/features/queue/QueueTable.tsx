// The waiting jobs: place, reasons, expected start and finish.
import { List, Stack, Table, Text } from "@mantine/core";

import type { QueuedJob } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { count } from "@/lib/quantities";

export function QueueTable({ jobs }: { jobs: QueuedJob[] }) {
  return (
    <ScrollTable label="Queue" head={["Place", "Job", "Why it waits", "Wants", "Start", "Finish"]} minWidth={760}>
      {jobs.map((job) => (
        <Table.Tr key={job.id}>
          <Table.Td>{job.place ?? "–"}</Table.Td>
          <Table.Td>
            <TextLink to={`/jobs/${job.id}`}>{job.name}</TextLink>
            <Text size="xs" c="dimmed">
              {job.project.organisation.name} / {job.project.name}
              {job.priority !== 0 && ` · priority ${job.priority}`}
            </Text>
          </Table.Td>
          <Table.Td>
            <Reasons job={job} />
          </Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>{wants(job)}</Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>
            <RelativeTime at={job.predicted_start_at} />
          </Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>
            <RelativeTime at={job.predicted_finish_at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

function Reasons({ job }: { job: QueuedJob }) {
  const [first, ...others] = job.explanations;
  if (first === undefined) return <Text size="sm">No round has seen it yet; that takes some seconds.</Text>;
  return (
    <Stack gap={2}>
      <Text size="sm">{first.sentence}</Text>
      {others.length > 0 && (
        <List size="xs" c="dimmed">
          {others.map(({ reason, sentence }) => (
            <List.Item key={reason}>{sentence}</List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}

function wants({ min_workers: min, max_workers: max }: QueuedJob): string {
  return min === max ? count(min, "GPU") : `${min}–${max} GPUs`;
}
