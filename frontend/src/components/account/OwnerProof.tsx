// SPDX-License-Identifier: Apache-2.0
// A form whose act needs more than a session: the password with the second factor, or a passkey.
import { t } from "@lingui/core/macro";
import { Button, Group, type MantineColor, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { askPasskey, passkeysQuery, whyNoPasskeys } from "@/api/signIn/passkeys";
import { signInMethodsQuery } from "@/api/signIn/signInMethods";
import type { OwnerProof } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

export const secondFactorQuery = queryOptions({
  queryKey: ["second factor"],
  queryFn: () => unwrap(api.GET("/api/v1/auth/second-factor")),
});

interface Props {
  /** On the button, and what the form is called. */
  label: string;
  formLabel: string;
  action: (proof: OwnerProof) => Promise<unknown>;
  color?: MantineColor;
  children?: ReactNode;
}

export function OwnerProofForm({ label, formLabel, action, color, children }: Props) {
  const factor = useQuery(secondFactorQuery).data;
  const passkeys = useQuery(passkeysQuery).data ?? [];
  const origin = useQuery(signInMethodsQuery).data?.passkey_origin ?? null;
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const act = useMutation({
    mutationFn: action,
    onSuccess: () => {
      setPassword("");
      setCode("");
    },
  });
  const byPasskey = useMutation({ mutationFn: async () => action({ password: "", code: "", passkey: await askPasskey() }) });
  const error = byPasskey.error ?? act.error;
  const problem = error instanceof Problem ? error : undefined;
  const hasPassword = factor?.has_password ?? true;
  const isPasskeyOffered = passkeys.length > 0 && !whyNoPasskeys(origin);
  const isRecovering = factor?.is_recovering ?? false;
  const isAsked = !isRecovering && (factor?.is_enabled || passkeys.length > 0);
  const isCodeNeeded = isAsked || code !== "" || problem?.code === "second_factor_needed";

  function submit(event: SubmitEvent) {
    event.preventDefault();
    byPasskey.reset();
    act.mutate({ password, code });
  }

  return (
    <form onSubmit={submit} aria-label={formLabel}>
      <Stack gap="sm">
        {children}
        {hasPassword ? (
          <PasswordInput
            label={t`Your password`}
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            error={problem?.of("password")}
            visibilityToggleButtonProps={{ "aria-label": t`Show or hide what is typed` }}
            required
          />
        ) : (
          <Text size="sm" c="dimmed">
            {t`Your account has no password: this works within ten minutes of signing in.`}
          </Text>
        )}
        {hasPassword && isCodeNeeded && (
          <TextInput
            label={factor?.is_enabled === false && passkeys.length > 0 ? t`Recovery code` : t`Code of your second factor`}
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            error={problem?.of("code")}
            required
          />
        )}
        <ProblemAlert error={error} atFields={["password", "code"]} />
        <Group gap="xs">
          <Button
            type="submit"
            color={color}
            variant={color ? "light" : "filled"}
            loading={act.isPending}
            disabled={hasPassword && (password === "" || (Boolean(factor?.is_enabled) && !isRecovering && code === ""))}
          >
            {label}
          </Button>
          {isPasskeyOffered && (
            <Button
              variant="default"
              loading={byPasskey.isPending}
              onClick={() => {
                act.reset();
                byPasskey.mutate();
              }}
            >
              {t`Use a passkey instead`}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}
