// SPDX-License-Identifier: Apache-2.0
// Gives a member of the organisation a further role in a team or a project.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Paper, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { PlaceKind } from "@/api/tenants/roles";
import type { BoundRole } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountSelect } from "@/components/form/choice/AccountSelect";
import { BOUND_ROLES, roleLabel } from "@/features/roles/texts";

export function GiveRole({ kind, id, organisationId }: { kind: PlaceKind; id: string; organisationId: string }) {
  const queries = useQueryClient();
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<BoundRole>("member");
  const give = useMutation({
    mutationFn: () => {
      const options = { params: { path: { id } }, body: { username: username.trim(), role } };
      return unwrap(kind === "teams" ? api.POST("/api/v1/teams/{id}/roles", options) : api.POST("/api/v1/projects/{id}/roles", options));
    },
    onSuccess: () => {
      setUsername("");
      return queries.invalidateQueries();
    },
  });
  const problem = give.error instanceof Problem ? give.error : undefined;
  const ofName = problem?.of("username");

  function submit(event: SubmitEvent) {
    event.preventDefault();
    give.mutate();
  }

  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label={t`Give a role`}>
        <Stack>
          <Group align="flex-start" grow preventGrowOverflow={false}>
            <AccountSelect
              organisationId={organisationId}
              description={t`A member or a service account of the organisation.`}
              value={username}
              onChange={setUsername}
              error={ofName}
            />
            <NativeSelect
              label={t`Role`}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as BoundRole)}
              data={BOUND_ROLES.map((value) => ({ value, label: roleLabel(value) }))}
            />
          </Group>
          {!ofName && <ProblemAlert error={give.error} />}
          <Group>
            <Button type="submit" loading={give.isPending} disabled={username.trim() === ""}>
              {t`Give the role`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
