// SPDX-License-Identifier: Apache-2.0
// The second factor of one's account: set up with an authenticator app, and removed with password and code.
import { t } from "@lingui/core/macro";
import { Alert, Button, Code, Image, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { meQuery, useMe } from "@/api/session";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";

const secondFactorQuery = queryOptions({
  queryKey: ["second factor"],
  queryFn: () => unwrap(api.GET("/api/v1/auth/second-factor")),
});

const SHOW_OR_HIDE = { "aria-label": t`Show or hide what is typed` };

export function SecondFactor() {
  const me = useMe();
  const factor = useQuery(secondFactorQuery);
  const [recoveryCodes, setRecoveryCodes] = useState<string[]>();
  if (recoveryCodes) {
    return (
      <SecretOnce
        title={t`The second factor is on. Keep these recovery codes`}
        text={t`Each signs you in once when you do not have your phone. They are not shown again.`}
        secret={recoveryCodes.join("\n")}
        label={t`Recovery codes`}
        onDone={() => setRecoveryCodes(undefined)}
      />
    );
  }
  return (
    <Stack maw={400} gap="sm">
      {me.needs_second_factor && (
        <Alert color="yellow" title={t`Set up a second factor`}>
          {t`Administrators of this MLHub have their rights only with a second factor.`}
        </Alert>
      )}
      <QueryResult of={factor}>
        {({ is_enabled, n_recovery_codes }) =>
          is_enabled ? <Remove nRecoveryCodes={n_recovery_codes} /> : <SetUp onDone={setRecoveryCodes} />
        }
      </QueryResult>
    </Stack>
  );
}

function SetUp({ onDone }: { onDone: (recoveryCodes: string[]) => void }) {
  const queries = useQueryClient();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const begin = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/second-factor", { body: { password } })),
    onSuccess: () => setPassword(""),
  });
  const confirm = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/second-factor/confirm", { body: { code } })),
    onSuccess: async ({ recovery_codes }) => {
      onDone(recovery_codes);
      await Promise.all([secondFactorQuery, meQuery].map(({ queryKey }) => queries.invalidateQueries({ queryKey })));
    },
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    if (begin.data) confirm.mutate();
    else begin.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Set up a second factor`}>
      <Stack gap="sm">
        {begin.data ? (
          <>
            <Text size="sm">{t`Scan this with an authenticator app, or type the secret into it, and give the code that it shows.`}</Text>
            <Image src={`data:image/svg+xml,${encodeURIComponent(begin.data.qr_svg)}`} alt={t`QR code of the secret`} w={220} />
            <Code style={{ overflowWrap: "anywhere" }} aria-label={t`The secret`}>
              {begin.data.secret}
            </Code>
            <CodeInput value={code} onChange={setCode} error={errorOf(confirm.error, "code")} />
            <ProblemAlert error={confirm.error} atFields={["code"]} />
          </>
        ) : (
          <>
            <Text size="sm">{t`Signing in then asks for a code of your phone as well. API tokens go on without it.`}</Text>
            <Password value={password} onChange={setPassword} error={errorOf(begin.error, "password")} />
            <ProblemAlert error={begin.error} atFields={["password"]} />
          </>
        )}
        <Button type="submit" loading={begin.isPending || confirm.isPending} disabled={(begin.data ? code : password) === ""}>
          {begin.data ? t`Turn it on` : t`Set up`}
        </Button>
      </Stack>
    </form>
  );
}

function Remove({ nRecoveryCodes }: { nRecoveryCodes: number }) {
  const queries = useQueryClient();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const remove = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/second-factor/remove", { body: { password, code } })),
    onSuccess: () =>
      Promise.all([secondFactorQuery, meQuery].map(({ queryKey }) => queries.invalidateQueries({ queryKey }))),
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    remove.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Remove the second factor`}>
      <Stack gap="sm">
        <Text size="sm">{t`It is on. Recovery codes left: ${nRecoveryCodes}.`}</Text>
        <Password value={password} onChange={setPassword} error={errorOf(remove.error, "password")} />
        <CodeInput value={code} onChange={setCode} error={errorOf(remove.error, "code")} />
        <ProblemAlert error={remove.error} atFields={["password", "code"]} />
        <Button type="submit" color="red" variant="light" loading={remove.isPending} disabled={password === "" || code === ""}>
          {t`Remove it`}
        </Button>
      </Stack>
    </form>
  );
}

interface InputProps {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

function Password({ value, onChange, error }: InputProps) {
  return (
    <PasswordInput
      label={t`Your password`}
      autoComplete="current-password"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      visibilityToggleButtonProps={SHOW_OR_HIDE}
      required
    />
  );
}

function CodeInput({ value, onChange, error }: InputProps) {
  return (
    <TextInput
      label={t`Code`}
      autoComplete="one-time-code"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      required
    />
  );
}

function errorOf(error: unknown, field: string): string | undefined {
  return error instanceof Problem ? error.of(field) : undefined;
}
