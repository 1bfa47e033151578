// SPDX-License-Identifier: Apache-2.0
// The button that leads to the provider of single sign-on, and the code that MLHub may ask for afterwards.
import { t } from "@lingui/core/macro";
import { Button, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, unwrap } from "@/api/client";
import { leaveFor, signInMethodsQuery } from "@/api/signIn/signInMethods";
import type { Me } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { PasskeyButton } from "@/features/session/PasskeyButton";

export function SingleSignOnButton({ name, next }: { name: string; next: string }) {
  const begin = useMutation({
    mutationFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/single-sign-on", { body: { next } }));
    },
    onSuccess: leaveFor,
  });
  return (
    <>
      <ProblemAlert error={begin.error} />
      <Button fullWidth loading={begin.isPending} onClick={() => begin.mutate()}>
        {t`Sign in with ${name}`}
      </Button>
    </>
  );
}

/** The provider has vouched for the person, and the account has a second factor here. */
export function SingleSignOnCode({ onDone }: { onDone: (me: Me) => Promise<void> }) {
  const [code, setCode] = useState("");
  const hasPasskeys = Boolean(useQuery(signInMethodsQuery).data?.passkey_origin);
  const send = useMutation({
    mutationFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/single-sign-on/code", { body: { code } }));
    },
    onSuccess: onDone,
    onError: () => setCode(""),
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    send.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Second factor`}>
      <Stack>
        <ProblemAlert error={send.error} />
        <TextInput
          label={t`Code of your second factor`}
          description={t`From your authenticator app, or a recovery code.`}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoComplete="one-time-code"
          autoFocus
          required
        />
        <Button type="submit" loading={send.isPending} fullWidth>
          {t`Sign in`}
        </Button>
        {hasPasskeys && (
          <PasskeyButton
            label={t`Use a passkey as the second factor`}
            onAnswer={async (passkey) =>
              onDone(await unwrap(api.POST("/api/v1/auth/single-sign-on/code", { body: { code: "", passkey } })))
            }
          />
        )}
      </Stack>
    </form>
  );
}
