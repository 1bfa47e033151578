// SPDX-License-Identifier: Apache-2.0
// What the deletion of an organisation or a project takes, what forbids it, and how far it is.
import { plural, t } from "@lingui/core/macro";
import { Alert, Button, List, Progress, Stack, Table, Text } from "@mantine/core";

import type { DeletionRefusal, OrganisationDeletion } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { bytes, number } from "@/lib/quantities";

interface CountsProps {
  /** What stays, in a sentence. */
  stays: string;
  counts: Record<string, number>;
  nBytes: number;
  /** Of a project; left out where checkpoints are not counted. */
  checkpointBytes?: number;
  /** Why so many bytes stay, in a sentence; left out: they all go. */
  shared?: string;
}

export function DeletionCounts({ stays, counts, nBytes, checkpointBytes, shared }: CountsProps) {
  const there = Object.entries(counts).filter(([, n]) => n > 0);
  return (
    <>
      <Text size="sm">{t`All of this goes for good. ${stays}`}</Text>
      <Table aria-label={t`What is deleted`}>
        <Table.Tbody>
          {there.map(([kind, n]) => (
            <Table.Tr key={kind}>
              <Table.Th scope="row">{KINDS[kind] ?? kind}</Table.Th>
              <Table.Td ta="end">{number(n)}</Table.Td>
            </Table.Tr>
          ))}
          <Table.Tr>
            <Table.Th scope="row">{t`Stored, without checkpoints`}</Table.Th>
            <Table.Td ta="end">{bytes(nBytes)}</Table.Td>
          </Table.Tr>
          {checkpointBytes !== undefined && (
            <Table.Tr>
              <Table.Th scope="row">{t`Checkpoints`}</Table.Th>
              <Table.Td ta="end">{bytes(checkpointBytes)}</Table.Td>
            </Table.Tr>
          )}
        </Table.Tbody>
      </Table>
      {shared && (
        <Text size="sm" c="dimmed">
          {shared}
        </Text>
      )}
    </>
  );
}

export function DeletionRefusals({ refusals }: { refusals: readonly DeletionRefusal[] }) {
  return (
    <Alert color="yellow" title={t`It cannot be deleted yet`}>
      <List size="sm">
        {refusals.map(({ code, message, remedy }) => (
          <List.Item key={code}>{`${message} ${remedy}`}</List.Item>
        ))}
      </List>
    </Alert>
  );
}

type Progressing = Pick<OrganisationDeletion, "name" | "ended_at" | "n_removed" | "n_total" | "bytes_removed" | "problem" | "later_blobs" | "n_machines_left" | "machines_left">;

/** It goes on when the dialogue is closed, and when the page is left. */
export function DeletionProgress({ deletion: now, error, onClose }: { deletion: Progressing; error: unknown; onClose: () => void }) {
  const isOver = now.ended_at !== null;
  const share = isOver ? 100 : (100 * now.n_removed) / Math.max(1, now.n_total);
  return (
    <Stack>
      <Text size="sm" role="status">
        {isOver
          ? t`${now.name} is deleted: ${number(now.n_total)} things, ${bytes(now.bytes_removed)}.`
          : t`${number(now.n_removed)} of ${number(now.n_total)} things are deleted. It goes on when you leave this page.`}
      </Text>
      <Progress value={share} color="red" aria-label={t`Progress of the deletion`} />
      {now.problem && (
        <Alert color="yellow" title={t`It waits`}>
          {now.problem}
        </Alert>
      )}
      {isOver && now.later_blobs > 0 && (
        <Text size="sm" c="dimmed">{t`${plural(now.later_blobs, { one: "# file was", other: "# files were" })} stored within the last hour: the bytes go within two days, unless they are stored again.`}</Text>
      )}
      {isOver && now.n_machines_left > 0 && (
        <Text size="sm" c="dimmed">{t`${plural(now.n_machines_left, { one: "# machine has", other: "# machines have" })} not yet said that nothing of it is left in the cache there: ${namesOf(now)}. Agents that are connected remove it within 15 minutes.`}</Text>
      )}
      <ProblemAlert error={error instanceof Error ? error : null} />
      <Button variant="default" onClick={onClose}>
        {t`Close`}
      </Button>
    </Stack>
  );
}

function namesOf({ machines_left, n_machines_left }: Pick<Progressing, "machines_left" | "n_machines_left">): string {
  const more = n_machines_left - machines_left.length;
  return [...machines_left, ...(more > 0 ? [t`${number(more)} more`] : [])].join(", ");
}

const KINDS: Record<string, string> = {
  projects: t`Projects`,
  teams: t`Teams`,
  jobs: t`Jobs`,
  studies: t`Studies`,
  runs: t`Runs`,
  logged_models: t`Logged models`,
  models: t`Models`,
  datasets: t`Datasets`,
  environments: t`Environments`,
  uploads: t`Uploads under way`,
  members: t`Memberships`,
  service_accounts: t`Service accounts`,
};
