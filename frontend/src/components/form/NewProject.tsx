// SPDX-License-Identifier: Apache-2.0
// Creates a project of an organisation, for those who may add to it.
import { t } from "@lingui/core/macro";
import { Button, Group, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { projectsKey } from "@/api/session";
import type { OrganisationBrief } from "@/api/types";

interface Props {
  organisation: Pick<OrganisationBrief, "id" | "name">;
  description?: string;
}

export function NewProject({ organisation, description }: Props) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/projects", { body: { name: name.trim(), organisation: organisation.id, team: null } })),
    onSuccess: () => {
      setName("");
      return queries.invalidateQueries({ queryKey: projectsKey });
    },
  });
  function submit(event: SubmitEvent) {
    event.preventDefault();
    create.mutate();
  }
  return (
    <form onSubmit={submit} aria-label={t`New project of ${organisation.name}`}>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t`New project`}
          description={description}
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={create.error instanceof Problem ? create.error.detail : create.error?.message}
        />
        <Button type="submit" variant="default" loading={create.isPending} disabled={name.trim() === ""}>
          {t`Create project`}
        </Button>
      </Group>
    </form>
  );
}
