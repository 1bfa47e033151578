// SPDX-License-Identifier: Apache-2.0
// The pending jobs: place, reasons, predicted start and finish.
import { plural, t } from "@lingui/core/macro";
import { Group, List, Stack, Table, Text } from "@mantine/core";

import type { QueuedJob } from "@/api/types";
import { PredictedStart } from "@/components/display/PredictedStart";
import { PredictedTime } from "@/components/display/PredictedTime";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { pendingText } from "@/domain/jobs/pendingJob";
import { useNow } from "@/lib/time";

import { MoveHandle } from "./moves/MoveHandle";
import type { Move } from "./moves/move";
import moveClasses from "./moves/moves.module.css";
import { useDrag } from "./moves/useDrag";

import classes from "./QueueTable.module.css";

interface Props {
  jobs: QueuedJob[];
  isMovable: (job: QueuedJob) => boolean;
  onMove: (move: Move) => void;
  onPause: (job: QueuedJob) => void;
}

export function QueueTable({ jobs, isMovable, onMove, onPause }: Props) {
  const { drag, rowProps } = useDrag(jobs, onMove);
  return (
    <ScrollTable label={t`Queue`} head={[t`Place`, t`Job`, t`Why it is pending`, t`Requests`, t`Predicted start`, t`Predicted finish`]} minWidth={760}>
      {jobs.map((job, index) => (
        <Table.Tr key={job.id} className={moveClasses.row} {...rowProps(job, index)}>
          <Table.Td>
            <Group gap={4} wrap="nowrap" component="span">
              {isMovable(job) && <MoveHandle jobs={jobs} job={job} onMove={onMove} onDrag={drag} onPause={onPause} />}
              {job.place ?? "–"}
            </Group>
          </Table.Td>
          <Table.Td>
            <TextLink to={`/jobs/${job.id}`}>{job.name}</TextLink>
            <Text size="xs" c="dimmed">
              {job.project.organisation.name} / {job.project.name}
              {job.priority !== 0 && t` · priority ${job.priority}`}
            </Text>
          </Table.Td>
          <Table.Td>
            <Reasons job={job} />
          </Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>{requestText(job)}</Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>
            <PredictedStart at={job.predicted_start_at} p90={job.predicted_start_p90_at} explanations={job.explanations} />
          </Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>
            <PredictedTime at={job.predicted_finish_at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

function Reasons({ job }: { job: QueuedJob }) {
  const now = useNow(5);
  const [first, ...others] = job.explanations;
  if (first === undefined) return <Text size="sm">{pendingText(job, now)}</Text>;
  return (
    <Stack gap={2}>
      <Text size="sm">{first.sentence}</Text>
      {others.length > 0 && (
        <details className={classes.others}>
          <summary>{plural(others.length, { one: "# more reason", other: "# more reasons" })}</summary>
          <List size="xs" c="dimmed">
            {others.map(({ reason, sentence }) => (
              <List.Item key={reason}>{sentence}</List.Item>
            ))}
          </List>
        </details>
      )}
    </Stack>
  );
}

function requestText({ min_workers: min, max_workers: max }: QueuedJob): string {
  return min === max ? plural(min, { one: "# GPU", other: "# GPUs" }) : t`${min}–${max} GPUs`;
}
