// SPDX-License-Identifier: Apache-2.0
// One's own account: the password, passkeys, the second factor, single sign-on, and the browsers that are signed in.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge, Button, PasswordInput, Stack, Table, Text } from "@mantine/core";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { useMe } from "@/api/session";
import type { Session } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { browserName } from "@/features/account/browser";
import { Identity } from "@/features/account/Identity";
import { MailNotices } from "@/features/account/MailNotices";
import { Passkeys } from "@/features/account/Passkeys";
import { RecoveryCodes } from "@/features/account/RecoveryCodes";
import { SecondFactor } from "@/features/account/SecondFactor";
import { everyPage } from "@/lib/cursor";

const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => everyPage((query) => unwrap(api.GET("/api/v1/auth/sessions", { params: { query } }))),
});

export function AccountPage() {
  const me = useMe();
  return (
    <Page title={t`Account`} subtitle={t`Signed in as ${me.username}.`}>
      <Section title={t`Password`}>
        <ChangePassword />
      </Section>
      <Section title={t`Passkeys`}>
        <Passkeys />
      </Section>
      <Section title={t`Authenticator app`}>
        <SecondFactor />
      </Section>
      <RecoveryCodes />
      <Identity />
      <Section title={t`E-mail`}>
        <MailNotices />
      </Section>
      <Section title={t`Sessions`}>
        <Sessions />
      </Section>
      <Section title={t`API tokens`}>
        <Text size="sm">
          <Trans>
            Programs sign in with tokens: <TextLink to="/tokens">API tokens</TextLink>.
          </Trans>
        </Text>
      </Section>
    </Page>
  );
}

function ChangePassword() {
  const queries = useQueryClient();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/auth/password", { body: { current_password: current, new_password: next } })),
    onSuccess: () => {
      setCurrent("");
      setNext("");
      return queries.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  const problem = change.error instanceof Problem ? change.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    change.mutate();
  }

  const shared = { required: true, visibilityToggleButtonProps: { "aria-label": t`Show or hide what is typed` } };
  return (
    <form onSubmit={submit} aria-label={t`Change the password`}>
      <Stack maw={400} gap="sm">
        <PasswordInput
          label={t`Present password`}
          autoComplete="current-password"
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
          error={problem?.of("current_password")}
          {...shared}
        />
        <PasswordInput
          label={t`New password`}
          description={t`At least 10 characters.`}
          autoComplete="new-password"
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          error={problem?.of("new_password")}
          {...shared}
        />
        {problem && problem.errors.length === 0 && <ProblemAlert error={problem} />}
        {change.isSuccess && (
          <Text size="sm" role="status">
            {t`The password is changed; other sessions have ended.`}
          </Text>
        )}
        <Button type="submit" loading={change.isPending} disabled={current === "" || next === ""}>
          {t`Change password`}
        </Button>
      </Stack>
    </form>
  );
}

function Sessions() {
  const sessions = useQuery(sessionsQuery);
  return (
    <QueryResult of={sessions}>
      {(found) => (
        <ScrollTable label={t`Sessions`} head={[t`Browser`, t`From`, t`Signed in`, t`With`, ""]} minWidth={640}>
          {found.map((session) => (
            <SessionRow key={session.id} session={session} />
          ))}
        </ScrollTable>
      )}
    </QueryResult>
  );
}

function SessionRow({ session }: { session: Session }) {
  const queries = useQueryClient();

  async function end() {
    await unwrap(api.DELETE("/api/v1/auth/sessions/{id}", { params: { path: { id: session.id } } }));
    await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey });
  }

  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }} title={session.user_agent || undefined}>
        {browserName(session.user_agent ?? "") || t`Unknown`} {session.is_current && <Badge color="teal">{t`This session`}</Badge>}
      </Table.Td>
      <Table.Td>{session.address || "–"}</Table.Td>
      <Table.Td>
        <RelativeTime at={session.created_at} />
      </Table.Td>
      <Table.Td>{methodLabel(session)}</Table.Td>
      <Table.Td ta="right">
        {!session.is_current && (
          <ConfirmButton
            label={t`Sign out`}
            ariaLabel={t`Sign out the session from ${session.address ?? ""}`}
            size="xs"
            title={t`Sign this browser out?`}
            text={t`Its pages, streams and downloads end at once.`}
            action={end}
          />
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function methodLabel({ method }: Session): string {
  if (method === "passkey") return t`Passkey`;
  return method === "single_sign_on" ? t`Single sign-on` : t`Password`;
}
