// SPDX-License-Identifier: Apache-2.0
// What single users may have of an owner: what holds for all of them, and exceptions; admins change both here.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { QuotaOwner, UserQuota } from "@/api/types";
import { UserLimitBars } from "@/components/display/quota/LimitBars";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { removed, userQuotasQuery } from "@/features/quotas/users/queries";
import { UserQuotaForm } from "@/features/quotas/users/UserQuotaForm";

/** "": a new exception; null: nothing is edited. */
type Edited = string | null;

export function UserLimits({ owner, organisationId }: { owner: QuotaOwner; organisationId: string }) {
  const queries = useQueryClient();
  const quotas = useQuery(userQuotasQuery(owner));
  const [edited, setEdited] = useState<Edited>(null);

  async function remove(one: UserQuota) {
    try {
      await removed(one);
    } finally {
      await queries.invalidateQueries({ queryKey: userQuotasQuery(owner).queryKey });
    }
  }

  return (
    <QueryResult of={quotas} label={t`Loading limits of users`}>
      {({ limits, may_edit }) => {
        const everyone = limits.find(({ user }) => user === null);
        const done = () => setEdited(null);
        return (
          <Stack gap="sm" component="section" aria-label={t`Limits of users in ${owner.name}`}>
            <Text size="xs" c="dimmed">
              {t`One person has at most so much of ${owner.name}, also within what it is guaranteed.`}
            </Text>
            {(everyone ? limits : [undefined, ...limits]).map((one) => {
              const name = one?.user?.username ?? t`everyone`;
              const key = one?.id ?? "everyone";
              return (
                <Stack key={key} gap={4}>
                  <Group justify="space-between" gap="xs" wrap="nowrap">
                    <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                      {one?.user ? one.user.username : t`Everyone without limits of their own`}
                    </Text>
                    {may_edit && (
                      <Group gap={4} wrap="nowrap">
                        <Button
                          size="compact-xs"
                          variant="default"
                          aria-label={t`Change the limits of ${name}`}
                          aria-expanded={edited === key}
                          onClick={() => setEdited(edited === key ? null : key)}
                        >
                          {t`Change`}
                        </Button>
                        {one && (
                          <ConfirmButton
                            label={t`Remove`}
                            size="compact-xs"
                            ariaLabel={t`Remove the limits of ${name}`}
                            title={t`Remove the limits of ${name}?`}
                            text={one.user ? t`Those of everyone hold for ${name} from the next scheduling round on.` : t`Who has no limits of their own may use all of ${owner.name} from the next scheduling round on.`}
                            action={() => remove(one)}
                          />
                        )}
                      </Group>
                    )}
                  </Group>
                  {one ? <UserLimitBars quota={one} name={name} /> : <Text size="xs" c="dimmed">{t`No limit`}</Text>}
                  {edited === key && <UserQuotaForm owner={owner} organisationId={organisationId} quota={one} user={one?.user ?? null} onDone={done} />}
                </Stack>
              );
            })}
            {may_edit && (
              <Group>
                <Button
                  size="compact-xs"
                  variant="default"
                  aria-expanded={edited === ""}
                  onClick={() => setEdited(edited === "" ? null : "")}
                >
                  {t`Limit one person`}
                </Button>
              </Group>
            )}
            {edited === "" && <UserQuotaForm owner={owner} organisationId={organisationId} quota={begun(everyone)} user={undefined} onDone={done} />}
          </Stack>
        );
      }}
    </QueryResult>
  );
}

/** A person's first own limits begin as those of everyone; there is no version of them yet. */
function begun(everyone: UserQuota | undefined): UserQuota | undefined {
  return everyone && { ...everyone, version: 0 };
}
