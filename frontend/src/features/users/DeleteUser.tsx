// SPDX-License-Identifier: Apache-2.0
// Deletes an account; the dialogue says what the user made, and asks who becomes its maker.
import { t } from "@lingui/core/macro";
import { Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";

import { api, unwrap } from "@/api/client";
import type { User } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { remainderText } from "@/domain/remainder";
import { userDeletionQuery } from "@/features/users/queries";
import { lazyComponent } from "@/lib/chunk";

const HeirSelect = lazyComponent(async () => (await import("./HeirSelect")).HeirSelect);

export function DeleteUser({ user }: { user: Pick<User, "id" | "username"> }) {
  const queries = useQueryClient();
  const [heir, setHeir] = useState("");

  async function remove() {
    const query = heir === "" ? {} : { reassign_to: heir };
    await unwrap(api.DELETE("/api/v1/users/{id}", { params: { path: { id: user.id }, query } }));
    await queries.invalidateQueries({ queryKey: ["users"] });
  }

  return (
    <ConfirmButton
      label={t`Delete`}
      ariaLabel={t`Delete ${user.username}`}
      size="xs"
      title={t`Delete ${user.username}?`}
      text={<Consequences user={user} heir={heir} onHeir={setHeir} />}
      action={remove}
    />
  );
}

interface Props {
  user: Pick<User, "id" | "username">;
  heir: string;
  onHeir: (id: string) => void;
}

/** Read when the dialogue opens. */
function Consequences({ user, heir, onHeir }: Props) {
  const { data } = useQuery(userDeletionQuery(user.id));
  if (data === undefined) return t`For good: the account, its memberships and its tokens.`;
  if (data.sole_owner_of.length > 0) {
    return t`${user.username} is the only owner of ${data.sole_owner_of.join(", ")}: make another member an owner first.`;
  }
  return (
    <Stack gap="xs">
      <Text size="sm">
        {t`For good: the account, its memberships and its tokens. Events keep its name.`}
      </Text>
      {data.remains.length > 0 && (
        <Suspense fallback={<Loading />}>
          <HeirSelect
            userId={user.id}
            label={t`What stays (${data.remains.map(remainderText).join(", ")}) passes to`}
            value={heir}
            onChange={onHeir}
          />
        </Suspense>
      )}
    </Stack>
  );
}
