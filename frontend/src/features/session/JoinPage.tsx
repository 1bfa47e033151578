// SPDX-License-Identifier: Apache-2.0
// Where the link of an invitation leads: what it offers, then joining with the account that is signed in or a new one.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useEffect, useState } from "react";
import { useLocation, useNavigate } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import { meQuery } from "@/api/session";
import type { MyInvitation } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountPaper } from "@/features/session/AccountPaper";

export function JoinPage() {
  const secret = useLocation().hash.slice(1);
  const offer = useQuery({
    queryKey: ["invitation", secret],
    queryFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/invitation", { body: { secret } }));
    },
    retry: false,
  });

  useEffect(() => {
    document.title = t`Invitation · MLHub`;
  }, []);

  return (
    <AccountPaper title={t`You are invited`} text={t`The link works once.`}>
      <QueryResult of={offer} label={t`Reading the invitation`}>
        {(found) => <Accept secret={secret} offer={found} />}
      </QueryResult>
    </AccountPaper>
  );
}

function Accept({ secret, offer }: { secret: string; offer: MyInvitation }) {
  const me = useQuery({ ...meQuery, retry: false });
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const accept = useMutation({
    mutationFn: () => {
      const account = me.data ? { username: "", password: "" } : { username: username.trim(), password };
      return unwrap(api.POST("/api/v1/auth/invitation/accept", { body: { secret, ...account } }));
    },
    onSuccess: async (joined) => {
      queries.clear();
      queries.setQueryData(meQuery.queryKey, joined);
      await navigate("/", { replace: true });
    },
  });
  const problem = accept.error instanceof Problem ? accept.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    accept.mutate();
  }

  if (me.isPending) return null;
  return (
    <form onSubmit={submit} aria-label={t`Accept the invitation`}>
      <Stack>
        <Text>
          <Trans>
            {offer.invited_by?.username ?? t`A former member`} invites you to <b>{offer.organisation.name}</b> as{" "}
            <b>{offer.role}</b>. It expires <RelativeTime at={offer.expires_at} />.
          </Trans>
        </Text>
        {problem && problem.errors.length === 0 && <ProblemAlert error={problem} />}
        {!me.data && (
          <>
            <TextInput
              label={t`User name`}
              description={t`Of your new account.`}
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
              error={problem?.of("username")}
              autoComplete="username"
              autoCapitalize="none"
              required
            />
            <PasswordInput
              label={t`Password`}
              description={t`At least 10 characters.`}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
              error={problem?.of("password")}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ "aria-label": t`Show or hide what is typed` }}
              required
            />
          </>
        )}
        <Button type="submit" loading={accept.isPending} fullWidth>
          {me.data ? t`Join as ${me.data.username}` : t`Create the account and join`}
        </Button>
        {!me.data && (
          <Text size="sm">
            <Trans>
              You have an account? <TextLink to={`/sign-in?next=%2Fjoin#${secret}`}>Sign in first</TextLink>.
            </Trans>
          </Text>
        )}
      </Stack>
    </form>
  );
}
