// SPDX-License-Identifier: Apache-2.0
// The names of a version, such as @best: given to it, moved to it from another version, or deleted.
import { t } from "@lingui/core/macro";
import { Button, Group, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Problem, api, unwrap } from "@/api/client";
import type { ModelVersion } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";

export function Aliases({ version: { model, number, aliases } }: { version: ModelVersion }) {
  const [name, setName] = useState("");
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ["model"] });
  const add = useMutation({
    mutationFn: () => {
      const path = { id: model.id, name: name.trim().replace(/^@/, "") };
      return unwrap(api.PUT("/api/v1/models/{id}/aliases/{name}", { params: { path }, body: { version: number } }));
    },
    onSuccess: async () => {
      setName("");
      await refresh();
    },
  });
  async function remove(alias: string) {
    const path = { id: model.id, name: alias };
    await unwrap(api.DELETE("/api/v1/models/{id}/aliases/{name}", { params: { path } }));
    await refresh();
  }
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (name.trim()) add.mutate();
  };
  const errors = add.error instanceof Problem ? add.error.errors : [];
  const wrong = errors.find(({ field }) => field === "name");
  return (
    <form onSubmit={send} noValidate>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t`Alias`}
          description={t`A name for this version, such as best; another version loses it.`}
          placeholder={t`best`}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
          error={wrong && [wrong.message, wrong.remedy].filter(Boolean).join(" ")}
        />
        <Button type="submit" variant="default" disabled={!name.trim()} loading={add.isPending}>
          {t`Set alias`}
        </Button>
        {aliases.map((alias) => (
          <ConfirmButton
            key={alias}
            label={t`Delete @${alias}`}
            title={t`Delete the alias @${alias}?`}
            text={t`The version stays; what names it by this alias finds nothing then.`}
            action={() => remove(alias)}
          />
        ))}
      </Group>
      <ProblemAlert error={add.error} atFields={["name"]} />
    </form>
  );
}
