// SPDX-License-Identifier: Apache-2.0
// One's API tokens: what programs sign in with. A new one is shown once.
import { t } from "@lingui/core/macro";
import { Badge, Code, Group, Table } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import type { Token } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Page } from "@/components/layout/Page";
import { PagedTable } from "@/components/table/PagedTable";
import { NewToken } from "@/features/tokens/NewToken";
import { tokensQuery } from "@/features/tokens/queries";

export function TokensPage() {
  const [cursor, setCursor] = useState<string>();
  const tokens = useQuery(tokensQuery(cursor));
  return (
    <Page title={t`API tokens`} subtitle={t`What your programs sign in with. A token may do what you may, within its scopes.`}>
      <NewToken />
      <PagedTable
        list={tokens}
        label={t`API tokens`}
        head={[t`Name`, t`Begins with`, t`Scopes`, t`Reaches`, t`Last used`, t`Expires`, ""]}
        empty={<EmptyState title={t`No tokens yet`} text={t`Make one above for a program or for the command line.`} />}
        row={(token) => <Row key={token.id} token={token} />}
        onCursor={setCursor}
      />
    </Page>
  );
}

function Row({ token }: { token: Token }) {
  const queries = useQueryClient();

  async function revoke() {
    await unwrap(api.DELETE("/api/v1/tokens/{id}", { params: { path: { id: token.id } } }));
    await queries.invalidateQueries({ queryKey: ["tokens"] });
  }

  return (
    <Table.Tr>
      <Table.Td>{token.name}</Table.Td>
      <Table.Td>
        <Code>{token.prefix}…</Code>
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          {token.scopes.map((scope) => (
            <Badge key={scope} color="gray">
              {scope}
            </Badge>
          ))}
        </Group>
      </Table.Td>
      <Table.Td>{token.project?.name ?? token.organisation?.name ?? t`All`}</Table.Td>
      <Table.Td>{token.last_used_at ? <RelativeTime at={token.last_used_at} /> : t`Never`}</Table.Td>
      <Table.Td>{token.expires_at ? <RelativeTime at={token.expires_at} /> : t`Never`}</Table.Td>
      <Table.Td ta="right">
        <ConfirmButton
          label={t`Revoke`}
          ariaLabel={t`Revoke ${token.name}`}
          size="xs"
          title={t`Revoke ${token.name}?`}
          text={t`Programs that use it are refused from then on.`}
          action={revoke}
        />
      </Table.Td>
    </Table.Tr>
  );
}
