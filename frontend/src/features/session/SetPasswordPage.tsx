// SPDX-License-Identifier: Apache-2.0
// Where the link of an administrator leads: its user sets a password and is signed in. The secret is behind the #, which
// browsers do not send.
import { t } from "@lingui/core/macro";
import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useEffect, useState } from "react";
import { useLocation, useNavigate } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import { meQuery } from "@/api/session";
import type { Me } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountPaper } from "@/features/session/AccountPaper";
import { PasskeyButton } from "@/features/session/PasskeyButton";

export function SetPasswordPage() {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [isCodeAsked, setCodeAsked] = useState(false);
  const [isPasskeyAsked, setPasskeyAsked] = useState(false);
  const secret = useLocation().hash.slice(1);
  const navigate = useNavigate();
  const queries = useQueryClient();

  useEffect(() => {
    document.title = t`Set your password · MLHub`;
  }, []);

  async function enter(me: Me) {
    queries.clear();
    queries.setQueryData(meQuery.queryKey, me);
    await navigate(me.needs_second_factor ? "/account" : "/", { replace: true });
  }

  const put = useMutation({
    mutationFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/password-link", { body: { secret, password, code } }));
    },
    onSuccess: enter,
    onError: (error) => {
      if (!(error instanceof Problem) || error.code !== "second_factor_needed") return;
      setCodeAsked(true);
      setPasskeyAsked(error.facts.has_passkey === true);
    },
  });
  const problem = put.error instanceof Problem ? put.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    put.mutate();
  }

  return (
    <AccountPaper title={t`Set your password`} text={t`The link works once. You are signed in afterwards.`}>
      <form onSubmit={submit} aria-label={t`Set your password`}>
        <Stack>
          {problem && problem.errors.length === 0 && <ProblemAlert error={problem} />}
          <PasswordInput
            label={t`New password`}
            description={t`At least 10 characters.`}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            error={problem?.of("password")}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ "aria-label": t`Show or hide what is typed` }}
            autoFocus
            required
          />
          {isCodeAsked && (
            <TextInput
              label={t`Code of your second factor`}
              description={t`From your authenticator app, or a recovery code.`}
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
              error={problem?.of("code")}
              autoComplete="one-time-code"
              required
            />
          )}
          <Button type="submit" loading={put.isPending} disabled={secret === ""} fullWidth>
            {t`Set the password`}
          </Button>
          {isPasskeyAsked && (
            <PasskeyButton
              label={t`Use a passkey as the second factor`}
              onAnswer={async (passkey) =>
                enter(await unwrap(api.POST("/api/v1/auth/password-link", { body: { secret, password, code: "", passkey } })))
              }
            />
          )}
        </Stack>
      </form>
    </AccountPaper>
  );
}
