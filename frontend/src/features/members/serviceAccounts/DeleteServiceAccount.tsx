// SPDX-License-Identifier: Apache-2.0
// Deletes a service account; the dialogue says what it made, and asks which member becomes the maker.
import { t } from "@lingui/core/macro";
import { Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";

import { api, unwrap } from "@/api/client";
import type { Organisation, ServiceAccount } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { remainderText } from "@/domain/remainder";
import { serviceAccountDeletionQuery } from "@/features/members/queries";
import { lazyComponent } from "@/lib/chunk";

const HeirSelect = lazyComponent(async () => (await import("./HeirSelect")).HeirSelect);

interface Props {
  account: ServiceAccount;
  organisation: Organisation;
}

export function DeleteServiceAccount({ account, organisation }: Props) {
  const queries = useQueryClient();
  const [heir, setHeir] = useState("");

  async function remove() {
    const query = heir === "" ? {} : { reassign_to: heir };
    await unwrap(api.DELETE("/api/v1/service-accounts/{id}", { params: { path: { id: account.id }, query } }));
    await queries.invalidateQueries({ queryKey: ["members", organisation.id] });
  }

  return (
    <ConfirmButton
      label={t`Delete`}
      ariaLabel={t`Delete ${account.username}`}
      size="xs"
      title={t`Delete ${account.username}?`}
      text={<Consequences account={account} organisation={organisation} heir={heir} onHeir={setHeir} />}
      action={remove}
    />
  );
}

/** Read when the dialogue opens. */
function Consequences({ account, organisation, heir, onHeir }: Props & { heir: string; onHeir: (id: string) => void }) {
  const remains = useQuery(serviceAccountDeletionQuery(account.id)).data?.remains ?? [];
  return (
    <Stack gap="xs">
      <Text size="sm">{t`For good: the account and its tokens. Events keep its name.`}</Text>
      {remains.length > 0 && (
        <Suspense fallback={<Loading />}>
          <HeirSelect
            organisationId={organisation.id}
            label={t`What stays (${remains.map(remainderText).join(", ")}) passes to`}
            value={heir}
            onChange={onHeir}
          />
        </Suspense>
      )}
    </Stack>
  );
}
