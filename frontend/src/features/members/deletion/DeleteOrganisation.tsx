// SPDX-License-Identifier: Apache-2.0
// Deleting an archived organisation with all its data: what goes, what forbids it, the proof of who asks, the progress.
import { t } from "@lingui/core/macro";
import { Stack, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import type { Organisation, OrganisationDeletion } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Dialog } from "@/components/form/Dialog";
import { OwnerProofForm } from "@/components/account/OwnerProof";
import { DeletionCounts, DeletionProgress, DeletionRefusals } from "@/features/members/deletion/DeletionParts";
import { deletionQuery, organisationContentsQuery } from "@/features/members/queries";
import { bytes } from "@/lib/quantities";

/** Above what the page shows of the organisation, which goes with it: the end of the deletion is to be seen. */
export function DeleteOrganisation({ organisation, onClose }: { organisation: Organisation | null; onClose: () => void }) {
  const queries = useQueryClient();

  function leave() {
    onClose();
    void queries.invalidateQueries();
  }

  return (
    <Dialog opened={organisation !== null} onClose={leave} title={organisation && t`Delete ${organisation.name} with all its data?`}>
      {organisation && <Contents organisation={organisation} onClose={leave} />}
    </Dialog>
  );
}

function Contents({ organisation, onClose }: { organisation: Organisation; onClose: () => void }) {
  const [begun, setBegun] = useState<OrganisationDeletion>();
  const contents = useQuery({ ...organisationContentsQuery(organisation.id), enabled: begun === undefined });
  const going = begun ?? contents.data?.deletion; // the answer that there was, also when the organisation is gone
  if (going) return <Going deletion={going} onClose={onClose} />;
  return (
    <QueryResult of={contents} label={t`Counting what would be deleted`}>
      {(found) => (
        <Stack>
          <DeletionCounts
            stays={t`Accounts of people stay, and so do hours in the ledger and the audit of the platform.`}
            counts={found.counts}
            nBytes={found.n_bytes}
            shared={found.shared_bytes > 0 ? t`${bytes(found.shared_bytes)} of it stay: other organisations store the same content.` : undefined}
          />
          {found.refusals.length > 0 ? (
            <DeletionRefusals refusals={found.refusals} />
          ) : (
            <Confirm organisation={organisation} onBegun={setBegun} />
          )}
        </Stack>
      )}
    </QueryResult>
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

function Going({ deletion, onClose }: { deletion: OrganisationDeletion; onClose: () => void }) {
  const { data, error } = useQuery(deletionQuery(deletion.id));
  return <DeletionProgress deletion={data ?? deletion} error={error} onClose={onClose} />;
}
