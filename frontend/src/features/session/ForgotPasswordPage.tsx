// SPDX-License-Identifier: Apache-2.0
// For who has forgotten the password: a link by mail, or, without a mail server, who can help.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Code, List, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useEffect, useState } from "react";

import { api, unwrap } from "@/api/client";
import { signInMethodsQuery } from "@/api/signIn/signInMethods";
import { TextLink } from "@/components/display/TextLink";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { AccountPaper } from "@/features/session/AccountPaper";

export function ForgotPasswordPage() {
  const methods = useQuery(signInMethodsQuery);

  useEffect(() => {
    document.title = t`Forgot your password · MLHub`;
  }, []);

  return (
    <AccountPaper title={t`Forgot your password?`} text={t`You set a new one at a link.`}>
      <QueryResult of={methods} label={t`Reading how people sign in here`}>
        {({ sends_password_links, single_sign_on }) =>
          sends_password_links ? <LinkByMail provider={single_sign_on} /> : <WhoHelps />
        }
      </QueryResult>
      <Text size="sm">
        <TextLink to="/sign-in">{t`Back to signing in`}</TextLink>
      </Text>
    </AccountPaper>
  );
}

function LinkByMail({ provider }: { provider: string | null }) {
  const [account, setAccount] = useState("");
  const ask = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/forgotten-password", { body: { account: account.trim() } })),
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    ask.mutate();
  }

  if (ask.isSuccess) return <Asked account={account.trim()} provider={provider} onAgain={() => ask.reset()} />;
  return (
    <form onSubmit={submit} aria-label={t`Get a link by e-mail`}>
      <Stack>
        <ProblemAlert error={ask.error} />
        <TextInput
          label={t`User name or e-mail address`}
          value={account}
          onChange={(event) => setAccount(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={254}
          autoFocus
          required
        />
        <Button type="submit" loading={ask.isPending} fullWidth>
          {t`Send the link`}
        </Button>
      </Stack>
    </form>
  );
}

/** Says the same for names that exist and that do not. */
function Asked({ account, provider, onAgain }: { account: string; provider: string | null; onAgain: () => void }) {
  return (
    <Stack>
      <Alert color="teal" title={t`Look into your mailbox`} role="status">
        <Trans>
          If <b>{account}</b> signs in here with a password and has an e-mail address, a link is on its way there. It works once, for three
          days.
        </Trans>
      </Alert>
      <Text size="sm">
        {provider
          ? t`Nothing came? Look into the spam folder. People who sign in with ${provider} have no password here; all others ask an administrator of the platform for a link.`
          : t`Nothing came? Look into the spam folder, or ask an administrator of the platform for a link.`}
      </Text>
      <Button variant="default" onClick={onAgain}>
        {t`Try another name`}
      </Button>
    </Stack>
  );
}

function WhoHelps() {
  return (
    <Stack gap="xs">
      <Text size="sm">{t`This platform sends no e-mail, so a person helps you:`}</Text>
      <List size="sm" spacing="xs">
        <List.Item>{t`Ask an administrator of the platform. “Reset password” on the page Users makes a link, which you get by hand.`}</List.Item>
        <List.Item>
          <Trans>
            Are you the only administrator? On the server <Code>manage.py changepassword NAME</Code> sets a new password.
          </Trans>
        </List.Item>
      </List>
    </Stack>
  );
}
