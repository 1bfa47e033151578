// SPDX-License-Identifier: Apache-2.0
// An organisation's accounts for programs: everybody sees them, admins make, change and delete them.
import { t } from "@lingui/core/macro";
import { Badge, Button, Group, Table, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Fragment, useState } from "react";

import { api, unwrap } from "@/api/client";
import type { Organisation, ServiceAccount } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Section } from "@/components/layout/Section";
import { SearchedTable } from "@/components/table/SearchedTable";
import { readServiceAccounts, serviceAccountsKey } from "@/features/members/queries";
import { DeleteServiceAccount } from "@/features/members/serviceAccounts/DeleteServiceAccount";
import { NewServiceAccount } from "@/features/members/serviceAccounts/NewServiceAccount";
import { ServiceTokens } from "@/features/members/serviceAccounts/ServiceTokens";

interface Props {
  organisation: Organisation;
  isAdmin: boolean;
}

export function ServiceAccounts({ organisation, isAdmin }: Props) {
  return (
    <Section title={t`Service accounts`} order={3}>
      <Text size="sm" c="dimmed">
        {t`Accounts for programs, such as a continuous-integration server. They have no password and sign in with tokens.`}
      </Text>
      <SearchedTable
        name="account"
        searchedBy={t`Name`}
        label={t`Service accounts`}
        head={[t`Name`, t`Role`, t`Last used`, ""]}
        minWidth={700}
        queryKey={serviceAccountsKey(organisation.id)}
        read={(query) => readServiceAccounts(organisation.id, query)}
        empty={<Text size="sm">{isAdmin ? t`None yet: make the first one below.` : t`None yet. Admins make them.`}</Text>}
        row={(account) => <Row key={account.id} account={account} organisation={organisation} isAdmin={isAdmin} />}
      />
      {isAdmin && <NewServiceAccount organisationId={organisation.id} />}
    </Section>
  );
}

function Row({ account, organisation, isAdmin }: Props & { account: ServiceAccount }) {
  const [areTokensOpen, setTokensOpen] = useState(false);
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (is_active: boolean) =>
      unwrap(
        api.PATCH("/api/v1/service-accounts/{id}", { params: { path: { id: account.id } }, body: { is_active } }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["members", organisation.id] }),
  });

  return (
    <Fragment>
      <Table.Tr>
        <Table.Td style={{ overflowWrap: "anywhere" }}>
          {account.username} {!account.is_active && <Badge color="gray">{t`Deactivated`}</Badge>}
        </Table.Td>
        <Table.Td>{account.role}</Table.Td>
        <Table.Td>{account.last_used_at ? <RelativeTime at={account.last_used_at} /> : t`Never`}</Table.Td>
        <Table.Td>
          {isAdmin && (
            <Group gap="xs" justify="flex-end">
              <Button
                size="xs"
                variant="default"
                aria-expanded={areTokensOpen}
                aria-label={t`Tokens of ${account.username}`}
                onClick={() => setTokensOpen(!areTokensOpen)}
              >
                {t`Tokens`}
              </Button>
              {account.is_active ? (
                <ConfirmButton
                  label={t`Deactivate`}
                  ariaLabel={t`Deactivate ${account.username}`}
                  size="xs"
                  title={t`Deactivate ${account.username}?`}
                  text={t`Its tokens are refused at once. Its jobs go on. The account can be reactivated.`}
                  action={() => change.mutateAsync(false)}
                />
              ) : (
                <Button size="xs" variant="default" aria-label={t`Reactivate ${account.username}`} onClick={() => change.mutate(true)}>
                  {t`Reactivate`}
                </Button>
              )}
              <DeleteServiceAccount account={account} organisation={organisation} />
            </Group>
          )}
          <ProblemAlert error={change.error} />
        </Table.Td>
      </Table.Tr>
      {areTokensOpen && (
        <Table.Tr>
          <Table.Td colSpan={4}>
            <ServiceTokens account={account} organisationId={organisation.id} />
          </Table.Td>
        </Table.Tr>
      )}
    </Fragment>
  );
}
