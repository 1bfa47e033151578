// SPDX-License-Identifier: Apache-2.0
// Signing in, with a password, a passkey or at a provider of single sign-on; afterwards one is where one wanted to go. A fresh
// installation asks for its first administrator instead.
import { t } from "@lingui/core/macro";
import { Button, Divider, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation, useNavigate, useSearchParams } from "react-router";

import { meQuery, setupQuery } from "@/api/session";
import { refusalOf, signInMethodsQuery } from "@/api/signIn/signInMethods";
import type { Me } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountPaper } from "@/features/session/AccountPaper";
import { FirstAdministrator } from "@/features/session/FirstAdministrator";
import { PasskeySignIn } from "@/features/session/PasskeyButton";
import { PasswordForm } from "@/features/session/PasswordForm";
import { SingleSignOnButton, SingleSignOnCode } from "@/features/session/SingleSignOn";

export function SignInPage() {
  const [hasAccount, setHasAccount] = useState(false);
  const [parameters] = useSearchParams();
  const { hash } = useLocation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const setup = useQuery(setupQuery);

  useEffect(() => {
    document.title = t`Sign in · MLHub`;
  }, []);

  const wanted = ownAddress(parameters.get("next"));
  // the secret of an invitation stays behind the #, which browsers do not send
  const next = wanted === "/join" ? wanted + hash : wanted;

  async function enter(me: Me) {
    queries.clear();
    queries.setQueryData(meQuery.queryKey, me);
    await navigate(me.needs_second_factor ? "/account" : next, { replace: true });
  }

  if (setup.data?.is_needed && !hasAccount) {
    return <FirstAdministrator onDone={enter} onSignIn={() => setHasAccount(true)} />;
  }
  return (
    <AccountPaper title={t`Sign in to MLHub`} text={t`Bring data and a model; MLHub decides the rest.`}>
      {parameters.has("code") ? (
        <SingleSignOnCode onDone={enter} />
      ) : (
        <Ways next={next} hasFailed={parameters.has("refused")} onDone={enter} />
      )}
    </AccountPaper>
  );
}

interface WaysProps {
  next: string;
  hasFailed: boolean;
  onDone: (me: Me) => Promise<void>;
}

function Ways({ next, hasFailed, onDone }: WaysProps) {
  const methods = useQuery(signInMethodsQuery);
  const [isPasswordAsked, setPasswordAsked] = useState(false);
  const provider = methods.data?.single_sign_on;
  const hasPasswordForm = !provider || methods.data?.has_passwords || isPasswordAsked;
  const hasPasskeys = Boolean(methods.data?.passkey_origin) && (methods.data?.has_passkeys || isPasswordAsked);
  return (
    <Stack>
      {hasFailed && <ProblemAlert error={refusalOf(methods.data)} />}
      {provider && <SingleSignOnButton name={provider} next={next} />}
      {provider && hasPasswordForm && <Divider label={t`or`} />}
      {hasPasswordForm ? (
        <>
          <PasswordForm onDone={onDone} isSecond={Boolean(provider)} />
          <Text size="sm">
            <TextLink to="/forgot-password">{t`Forgot your password?`}</TextLink>
          </Text>
        </>
      ) : (
        <Button variant="subtle" onClick={() => setPasswordAsked(true)}>
          {t`Administrators sign in with a password`}
        </Button>
      )}
      {hasPasskeys && !provider && <Divider label={t`or`} />}
      {hasPasskeys && <PasskeySignIn onDone={onDone} />}
    </Stack>
  );
}

/** Only addresses of this dashboard: a link from elsewhere must not lead away. */
function ownAddress(next: string | null): string {
  if (!next || !URL.canParse(next, window.location.origin)) return "/";
  const address = new URL(next, window.location.origin);
  const isOwn = address.origin === window.location.origin && !address.pathname.startsWith("/sign-in");
  return isOwn ? address.pathname + address.search : "/";
}
