// SPDX-License-Identifier: Apache-2.0
// Deleting an archived organisation with all its data: what goes, what forbids it, the proof of who asks, the progress.
import { t } from "@lingui/core/macro";
import { Alert, Button, List, Progress, Stack, Table, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import type { Organisation, OrganisationContents, OrganisationDeletion } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Dialog } from "@/components/form/Dialog";
import { OwnerProofForm } from "@/components/account/OwnerProof";
import { deletionQuery, organisationContentsQuery } from "@/features/members/queries";
import { bytes, number } from "@/lib/quantities";

export function DeleteOrganisation({ organisation }: { organisation: Organisation }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();

  function leave() {
    close();
    void queries.invalidateQueries();
  }

  return (
    <>
      <Button variant="default" c="var(--mantine-color-error)" size="xs" onClick={open}>
        {t`Delete with all its data`}
      </Button>
      <Dialog opened={isOpen} onClose={leave} title={t`Delete ${organisation.name} with all its data?`}>
        {isOpen && <Contents organisation={organisation} onClose={leave} />}
      </Dialog>
    </>
  );
}

function Contents({ organisation, onClose }: { organisation: Organisation; onClose: () => void }) {
  const contents = useQuery(organisationContentsQuery(organisation.id));
  const [begun, setBegun] = useState<OrganisationDeletion>();
  if (begun) return <Going deletion={begun} onClose={onClose} />;
  return (
    <QueryResult of={contents} label={t`Counting what would be deleted`}>
      {(found) =>
        found.deletion ? (
          <Going deletion={found.deletion} onClose={onClose} />
        ) : (
          <Stack>
            <Counts contents={found} />
            {found.refusals.length > 0 ? (
              <Refusals refusals={found.refusals} />
            ) : (
              <Confirm organisation={organisation} onBegun={setBegun} />
            )}
          </Stack>
        )
      }
    </QueryResult>
  );
}

function Counts({ contents: { counts, n_bytes, shared_bytes } }: { contents: OrganisationContents }) {
  const there = Object.entries(counts).filter(([, n]) => n > 0);
  return (
    <>
      <Text size="sm">
        {t`All of this goes for good. Accounts of people stay, and so do hours in the ledger and the audit of the platform.`}
      </Text>
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
            <Table.Td ta="end">{bytes(n_bytes)}</Table.Td>
          </Table.Tr>
        </Table.Tbody>
      </Table>
      {shared_bytes > 0 && (
        <Text size="sm" c="dimmed">{t`${bytes(shared_bytes)} of it stay: other organisations store the same content.`}</Text>
      )}
    </>
  );
}

function Refusals({ refusals }: { refusals: OrganisationContents["refusals"] }) {
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

function Confirm({ organisation, onBegun }: { organisation: Organisation; onBegun: (deletion: OrganisationDeletion) => void }) {
  const [name, setName] = useState("");
  const { id } = organisation;
  return (
    <OwnerProofForm
      label={t`Delete it for good`}
      formLabel={t`Delete ${organisation.name}`}
      color="red"
      action={async (proof) =>
        onBegun(await unwrap(api.POST("/api/v1/organisations/{id}/deletion", { params: { path: { id } }, body: { ...proof, name } })))
      }
    >
      <TextInput
        label={t`Type ${organisation.name} to confirm`}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        required
      />
    </OwnerProofForm>
  );
}

/** It goes on when the dialogue is closed, and when the page is left. */
function Going({ deletion, onClose }: { deletion: OrganisationDeletion; onClose: () => void }) {
  const { data, error } = useQuery(deletionQuery(deletion.id));
  const now = data ?? deletion;
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
        <Text size="sm" c="dimmed">{t`${number(now.later_blobs)} files were stored again a moment ago; they go within two days unless somebody uses them.`}</Text>
      )}
      <ProblemAlert error={error} />
      <Button variant="default" onClick={onClose}>
        {t`Close`}
      </Button>
    </Stack>
  );
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
