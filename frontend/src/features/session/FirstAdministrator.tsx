// SPDX-License-Identifier: Apache-2.0
// The first page of a fresh installation: the first administrator signs up with the one-time code.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Code, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { setupQuery } from "@/api/session";
import type { Me } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountPaper } from "@/features/session/AccountPaper";

const EMPTY = { code: "", username: "", password: "", organisation: "" };

interface Props {
  onDone: (me: Me) => Promise<void>;
  /** For those who have an account already, made by a command. */
  onSignIn: () => void;
}

export function FirstAdministrator({ onDone, onSignIn }: Props) {
  const [draft, setDraft] = useState(EMPTY);
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: async () => {
      await unwrap(api.GET("/api/v1/auth/csrf"));
      return unwrap(api.POST("/api/v1/auth/setup", { body: { ...draft, username: draft.username.trim() } }));
    },
    onSuccess: onDone,
    onError: (error) => {
      if (error instanceof Problem && error.code === "already_set_up") {
        void queries.invalidateQueries({ queryKey: setupQuery.queryKey });
      }
    },
  });
  const problem = create.error instanceof Problem ? create.error : undefined;

  function field(name: keyof typeof EMPTY) {
    return {
      value: draft[name],
      onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
        const { value } = event.currentTarget;
        setDraft((before) => ({ ...before, [name]: value }));
      },
      error: problem?.of(name),
      autoCapitalize: "none",
      spellCheck: false,
    };
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <AccountPaper title={t`Create the first administrator`} text={t`This MLHub is new and has no administrator yet.`}>
      <form onSubmit={submit} aria-label={t`Create the first administrator`}>
        <Stack>
          {problem && problem.errors.length === 0 && <ProblemAlert error={problem} />}
          <TextInput label={t`Setup code`} autoComplete="off" autoFocus required {...field("code")} />
          <Text size="xs" c="dimmed">
            <Trans>
              <Code>make up</Code> prints it; <Code>manage.py setup_code</Code> prints it anew.
            </Trans>
          </Text>
          <TextInput label={t`User name`} autoComplete="username" required {...field("username")} />
          <PasswordInput
            label={t`Password`}
            description={t`At least 10 characters.`}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ "aria-label": t`Show or hide what is typed` }}
            required
            {...field("password")}
          />
          <TextInput label={t`First organisation`} description={t`Optional: you own it.`} {...field("organisation")} />
          <Button type="submit" loading={create.isPending} fullWidth>
            {t`Create the administrator`}
          </Button>
          <Button variant="subtle" onClick={onSignIn}>
            {t`I have an account`}
          </Button>
        </Stack>
      </form>
    </AccountPaper>
  );
}
