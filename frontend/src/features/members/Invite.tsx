// SPDX-License-Identifier: Apache-2.0
// Invites a person by user name. The answer does not say whether there is such an account.
import { Button, Group, NativeSelect, Paper, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { Role } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

const ROLES: { value: Role; label: string }[] = [
  { value: "viewer", label: "Viewer: sees everything" },
  { value: "member", label: "Member: uploads, and runs jobs" },
  { value: "admin", label: "Admin: manages members and all jobs" },
  { value: "owner", label: "Owner: may do everything" },
];

export function Invite({ organisationId, isOwner }: { organisationId: string; isOwner: boolean }) {
  const queries = useQueryClient();
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<Role>("member");
  const invite = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/organisations/{id}/invitations", {
          params: { path: { id: organisationId } },
          body: { username: username.trim(), role },
        }),
      ),
    onSuccess: () => {
      setUsername("");
      return queries.invalidateQueries({ queryKey: ["members", organisationId] });
    },
  });
  const problem = invite.error instanceof Problem ? invite.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    invite.mutate();
  }

  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label="Invite a person">
        <Stack>
          <Group align="flex-start" grow preventGrowOverflow={false}>
            <TextInput
              label="User name"
              description="The person sees the invitation once signed in with this name."
              maxLength={150}
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
              error={problem?.of("username")}
              miw={220}
            />
            <NativeSelect
              label="Role"
              description="It can be changed later."
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as Role)}
              data={ROLES.filter(({ value }) => isOwner || value !== "owner")}
              error={problem?.of("role")}
              miw={220}
            />
          </Group>
          <ProblemAlert error={invite.error} />
          <Group justify="flex-end">
            <Button type="submit" loading={invite.isPending} disabled={username.trim() === ""}>
              Invite
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
