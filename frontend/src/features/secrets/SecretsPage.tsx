// SPDX-License-Identifier: Apache-2.0
// The secrets of one project: set, replaced and deleted here, and never shown.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Code, Group, Table, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";

import { api, unwrap } from "@/api/client";
import { readSecrets, secretsKey } from "@/api/secrets";
import { canWrite, useMe } from "@/api/session";
import { projectQuery } from "@/api/tenants/projects";
import type { Secret } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { SearchedTable } from "@/components/table/SearchedTable";
import { SetSecret } from "@/features/secrets/SetSecret";

export function SecretsPage() {
  const { id = "" } = useParams();
  const project = useQuery(projectQuery(id)).data;
  const me = useMe();
  const maySet = project !== undefined && canWrite(me, project);
  return (
    <Page
      title={project === undefined ? t`Secrets` : t`Secrets of ${project.name}`}
      subtitle={t`Tokens and passwords for the project's jobs. Values are encrypted, given to pods alone, and never shown again.`}
      back={<BackLink to="/members">{t`Members`}</BackLink>}
    >
      {maySet && <SetSecret projectId={id} />}
      <SearchedTable
        name="secret"
        searchedBy={t`Name`}
        label={t`Secrets`}
        head={[t`Name`, t`Set by`, t`Set`, ""]}
        queryKey={secretsKey(id)}
        read={(query) => readSecrets(id, query)}
        empty={<EmptyState title={t`No secrets yet`} />}
        row={(secret) => <Row key={secret.name} secret={secret} projectId={id} maySet={maySet} />}
      />
      <Text size="sm" c="dimmed">
        <Trans>
          A job names the secrets that it needs, in its advanced settings or by <Code>mlhub run --secret NAME</Code>, and finds each as an
          environment variable.
        </Trans>
      </Text>
    </Page>
  );
}

interface RowProps {
  secret: Secret;
  projectId: string;
  maySet: boolean;
}

function Row({ secret: { name, set_by, updated_at }, projectId, maySet }: RowProps) {
  const queries = useQueryClient();

  async function remove() {
    await unwrap(api.DELETE("/api/v1/projects/{id}/secrets/{name}", { params: { path: { id: projectId, name } } }));
    await queries.invalidateQueries({ queryKey: secretsKey(projectId) });
  }

  return (
    <Table.Tr>
      <Table.Td>
        <Code>{name}</Code>
      </Table.Td>
      <Table.Td>{set_by?.username ?? t`A deleted user`}</Table.Td>
      <Table.Td>
        <RelativeTime at={updated_at} />
      </Table.Td>
      <Table.Td>
        {maySet && (
          <Group justify="flex-end">
            <ConfirmButton
              label={t`Delete`}
              ariaLabel={t`Delete ${name}`}
              size="xs"
              title={t`Delete ${name}?`}
              text={t`Jobs that name it and are not launched yet start without it. Pods that run keep it.`}
              action={remove}
            />
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
