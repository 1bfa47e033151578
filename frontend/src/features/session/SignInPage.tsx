// SPDX-License-Identifier: Apache-2.0
// Signing in with a name and a password; afterwards one is where one wanted to go. A fresh installation asks for its
// first administrator instead.
import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useEffect, useState } from "react";
import { useLocation, useNavigate, useSearchParams } from "react-router";

import { api, unwrap } from "@/api/client";
import { meQuery, setupQuery } from "@/api/session";
import type { Me } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountPaper } from "@/features/session/AccountPaper";
import { FirstAdministrator } from "@/features/session/FirstAdministrator";

export function SignInPage() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [hasAccount, setHasAccount] = useState(false);
  const [parameters] = useSearchParams();
  const { hash } = useLocation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const setup = useQuery(setupQuery);

  useEffect(() => {
    document.title = "Sign in · MLHub";
  }, []);

  async function enter(me: Me) {
    queries.clear();
    queries.setQueryData(meQuery.queryKey, me);
    const next = ownAddress(parameters.get("next"));
    // the secret of an invitation stays behind the #, which browsers do not send
    await navigate(next === "/join" ? next + hash : next, { replace: true });
  }

  const signIn = useMutation({
    mutationFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/login", { body: { username: username.trim(), password } }));
    },
    onSuccess: enter,
    onError: () => setPassword(""),
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    signIn.mutate();
  }

  if (setup.data?.is_needed && !hasAccount) {
    return <FirstAdministrator onDone={enter} onSignIn={() => setHasAccount(true)} />;
  }
  return (
    <AccountPaper title="Sign in to MLHub" text="Bring data and a model; MLHub decides the rest.">
      <form onSubmit={submit} aria-label="Sign in">
        <Stack>
          <ProblemAlert error={signIn.error} />
          <TextInput
            label="User name"
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            autoFocus
            required
          />
          <PasswordInput
            label="Password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ "aria-label": "Show or hide what is typed" }}
            required
          />
          <Button type="submit" loading={signIn.isPending} fullWidth>
            Sign in
          </Button>
        </Stack>
      </form>
    </AccountPaper>
  );
}

/** Only addresses of this dashboard: a link from elsewhere must not lead away. */
function ownAddress(next: string | null): string {
  if (!next || !URL.canParse(next, window.location.origin)) return "/jobs";
  const address = new URL(next, window.location.origin);
  const isOwn = address.origin === window.location.origin && !address.pathname.startsWith("/sign-in");
  return isOwn ? address.pathname + address.search : "/jobs";
}
