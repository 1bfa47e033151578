// SPDX-License-Identifier: Apache-2.0
// Signing in with a name and a password, and with the code of a second factor where there is one.
import { t } from "@lingui/core/macro";
import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { Me } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { PasskeyButton } from "@/features/session/PasskeyButton";

interface Props {
  onDone: (me: Me) => Promise<void>;
  /** Whether it is the less usual way here. */
  isSecond: boolean;
}

export function PasswordForm({ onDone, isSecond }: Props) {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [isCodeAsked, setCodeAsked] = useState(false);
  const [isPasskeyAsked, setPasskeyAsked] = useState(false);

  const signIn = useMutation({
    mutationFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/login", { body: { username: username.trim(), password, code } }));
    },
    onSuccess: onDone,
    onError: (error) => {
      const reason = error instanceof Problem ? error.code : "";
      if (reason === "second_factor_needed") {
        setCodeAsked(true);
        setPasskeyAsked(error instanceof Problem && error.facts.has_passkey === true);
      } else if (reason !== "wrong_code") setPassword("");
      setCode("");
    },
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    signIn.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Sign in`}>
      <Stack>
        {!isMissingCode(signIn.error) && <ProblemAlert error={signIn.error} />}
        <TextInput
          label={t`User name`}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          autoFocus
          required
        />
        <PasswordInput
          label={t`Password`}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ "aria-label": t`Show or hide what is typed` }}
          required
        />
        {isCodeAsked && (
          <TextInput
            label={t`Code of your second factor`}
            description={t`From your authenticator app, or a recovery code.`}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoComplete="one-time-code"
            autoFocus
            required
          />
        )}
        <Button type="submit" variant={isSecond ? "default" : "filled"} loading={signIn.isPending} fullWidth>
          {t`Sign in`}
        </Button>
        {isPasskeyAsked && (
          <PasskeyButton
            label={t`Use a passkey as the second factor`}
            onAnswer={async (passkey) =>
              onDone(await unwrap(api.POST("/api/v1/auth/login", { body: { username: username.trim(), password, code: "", passkey } })))
            }
          />
        )}
      </Stack>
    </form>
  );
}

/** The name and the password were right: the page asks for the code. */
function isMissingCode(error: unknown): boolean {
  return error instanceof Problem && error.code === "second_factor_needed";
}
