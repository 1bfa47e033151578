// SPDX-License-Identifier: Apache-2.0
// Makes a service account; its tokens are made afterwards, in its row.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { Role } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

const ROLES: { value: Role; label: string }[] = [
  { value: "member", label: t`Member: uploads, and runs jobs` },
  { value: "submitter", label: t`Submitter: runs jobs of the data and models that are there` },
  { value: "outsider", label: t`Outsider: sees only the projects and teams where a role is given` },
  { value: "viewer", label: t`Viewer: sees everything` },
];

export function NewServiceAccount({ organisationId }: { organisationId: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const make = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/organisations/{id}/service-accounts", {
          params: { path: { id: organisationId } },
          body: { name: name.trim(), role },
        }),
      ),
    onSuccess: () => {
      setName("");
      return queries.invalidateQueries({ queryKey: ["members", organisationId] });
    },
  });
  const problem = make.error instanceof Problem ? make.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Make a service account`}>
      <Group align="flex-end">
        <TextInput
          label={t`Name of the service account`}
          placeholder="ci"
          maxLength={50}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problem?.of("name")}
        />
        <NativeSelect
          label={t`Role of the service account`}
          value={role}
          onChange={(event) => setRole(event.currentTarget.value as Role)}
          data={ROLES}
        />
        <Button type="submit" loading={make.isPending} disabled={name.trim() === ""}>
          {t`Make a service account`}
        </Button>
      </Group>
      <ProblemAlert error={make.error} atFields={["name"]} />
    </form>
  );
}
