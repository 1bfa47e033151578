// SPDX-License-Identifier: Apache-2.0
// The tokens of a service account: made, shown once, and revoked.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Checkbox, Code, Group, List, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { projectsOfChoices } from "@/api/choices";
import { api, Problem, unwrap } from "@/api/client";
import type { Scope, ServiceAccount, Token } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { SearchSelect } from "@/components/form/choice/SearchSelect";
import { serviceTokensQuery } from "@/features/members/queries";

const SCOPES: { value: Scope; label: string }[] = [
  { value: "read", label: t`Read` },
  { value: "submit", label: t`Submit` },
  { value: "write", label: t`Write` },
];
const LIFETIMES = [
  { value: "30", label: t`30 days` },
  { value: "90", label: t`90 days` },
  { value: "365", label: t`One year` },
];

export function ServiceTokens({ account, organisationId }: { account: ServiceAccount; organisationId: string }) {
  const tokens = useQuery(serviceTokensQuery(account.id));
  return (
    <Stack gap="sm">
      <QueryResult of={tokens}>
        {(found) =>
          found.length === 0 ? (
            <Text size="sm">{t`No tokens yet.`}</Text>
          ) : (
            <List size="sm" spacing="xs" aria-label={t`Tokens of ${account.username}`}>
              {found.map((token) => (
                <TokenItem key={token.id} token={token} accountId={account.id} />
              ))}
            </List>
          )
        }
      </QueryResult>
      <NewServiceToken account={account} organisationId={organisationId} />
    </Stack>
  );
}

function TokenItem({ token, accountId }: { token: Token; accountId: string }) {
  const queries = useQueryClient();

  async function revoke() {
    const params = { path: { id: accountId, token_id: token.id } };
    await unwrap(api.DELETE("/api/v1/service-accounts/{id}/tokens/{token_id}", { params }));
    await queries.invalidateQueries({ queryKey: serviceTokensQuery(accountId).queryKey });
  }

  return (
    <List.Item>
      <Group gap="xs">
        {token.name} <Code>{token.prefix}…</Code> {token.scopes.join(", ")}; {token.project?.name ?? t`all projects`};{" "}
        {token.expires_at && (
          <span>
            <Trans>
              expires <RelativeTime at={token.expires_at} />
            </Trans>
          </span>
        )}
        <ConfirmButton
          label={t`Revoke`}
          ariaLabel={t`Revoke ${token.name}`}
          size="xs"
          title={t`Revoke ${token.name}?`}
          text={t`Programs that use it are refused from then on.`}
          action={revoke}
        />
      </Group>
    </List.Item>
  );
}

function NewServiceToken({ account, organisationId }: { account: ServiceAccount; organisationId: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [project, setProject] = useState("");
  const [scopes, setScopes] = useState<string[]>(["read", "submit"]);
  const make = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/service-accounts/{id}/tokens", {
          params: { path: { id: account.id } },
          body: {
            name: name.trim(),
            scopes: scopes as Scope[],
            expires_in_days: Number(days),
            project: project === "" ? null : project,
          },
        }),
      ),
    onSuccess: () => {
      setName("");
      return queries.invalidateQueries({ queryKey: serviceTokensQuery(account.id).queryKey });
    },
  });
  const problem = make.error instanceof Problem ? make.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  if (make.data) {
    return (
      <SecretOnce
        title={t`The token ${make.data.name} of ${account.username}`}
        text={t`Copy it now: it is not shown again.`}
        secret={make.data.token}
        label={t`The token`}
        onDone={make.reset}
      />
    );
  }
  return (
    <form onSubmit={submit} aria-label={t`Make a token for ${account.username}`}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={t`Name of the token`}
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problem?.of("name")}
        />
        <NativeSelect label={t`Lifetime`} value={days} onChange={(event) => setDays(event.currentTarget.value)} data={LIFETIMES} />
        <SearchSelect
          label={t`Reaches`}
          allowDeselect={false}
          source={projectsOfChoices(organisationId)}
          textOf={({ name: label }) => t`Only the project ${label}`}
          extra={[{ value: "", label: t`The organisation` }]}
          value={project}
          onChange={setProject}
          error={problem?.of("project")}
        />
        <Checkbox.Group label={t`Scopes`} value={scopes} onChange={setScopes} error={problem?.of("scopes")}>
          <Group gap="sm" h={36}>
            {SCOPES.map(({ value, label }) => (
              <Checkbox key={value} value={value} label={label} />
            ))}
          </Group>
        </Checkbox.Group>
        <Button type="submit" loading={make.isPending} disabled={name.trim() === "" || scopes.length === 0}>
          {t`Make a token`}
        </Button>
      </Group>
      <ProblemAlert error={make.error} atFields={["name", "project", "scopes"]} />
    </form>
  );
}
