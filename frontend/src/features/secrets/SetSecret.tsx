// SPDX-License-Identifier: Apache-2.0
// Sets a secret, or replaces the value of one.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { secretsKey } from "@/api/secrets";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

export function SetSecret({ projectId }: { projectId: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const put = useMutation({
    mutationFn: () => {
      const path = { id: projectId, name: name.trim() };
      return unwrap(api.PUT("/api/v1/projects/{id}/secrets/{name}", { params: { path }, body: { value } }));
    },
    onSuccess: async () => {
      setName("");
      setValue("");
      await queries.invalidateQueries({ queryKey: secretsKey(projectId) });
    },
  });
  const problem = put.error instanceof Problem ? put.error : undefined;
  const isAtInputs = problem?.of("name") !== undefined || problem?.of("value") !== undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    put.mutate();
  }

  return (
    <Paper component="form" withBorder p="md" maw={640} onSubmit={submit} aria-label={t`Set a secret`}>
      <Stack>
        <TextInput
          label={t`Name`}
          description={t`Of the environment variable; a name that is there gets the new value`}
          placeholder="HF_TOKEN"
          maxLength={100}
          autoComplete="off"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problem?.of("name")}
        />
        <PasswordInput
          label={t`Value`}
          autoComplete="new-password"
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          error={problem?.of("value")}
        />
        {!isAtInputs && <ProblemAlert error={put.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={put.isPending} disabled={name.trim() === "" || value === ""}>
            {t`Set the secret`}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
