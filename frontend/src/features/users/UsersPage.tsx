// SPDX-License-Identifier: Apache-2.0
// The accounts of the platform: made, changed and deleted by its administrators.
import { Badge, Button, Group, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { useMe } from "@/api/session";
import type { User } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SecretOnce } from "@/components/display/SecretOnce";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Page } from "@/components/layout/Page";
import { PagedTable } from "@/components/table/PagedTable";
import { useFilters } from "@/components/table/useFilters";
import { DeleteUser } from "@/features/users/DeleteUser";
import { NewUser } from "@/features/users/NewUser";
import { usersQuery } from "@/features/users/queries";

export function UsersPage() {
  const { filters, filter, turn } = useFilters(["username"] as const);
  const [name, setName] = useState(filters.username ?? "");
  const users = useQuery(usersQuery(filters));
  return (
    <Page title="Users" subtitle="The accounts of this MLHub. Each person sets the password at a link that works once.">
      <NewUser />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          filter("username", name.trim());
        }}
      >
        <Group gap="xs" align="end">
          <TextInput size="xs" label="Name contains" value={name} onChange={(event) => setName(event.currentTarget.value)} />
          <Button size="xs" variant="default" type="submit">
            Find
          </Button>
        </Group>
      </form>
      <PagedTable
        list={users}
        label="Users"
        head={["Name", "Belongs to", "Last sign-in", "Created", ""]}
        minWidth={900}
        empty={<EmptyState title="No users" text="No name contains this." />}
        row={(user) => <Row key={user.id} user={user} />}
        onCursor={turn}
      />
    </Page>
  );
}

function Row({ user }: { user: User }) {
  const queries = useQueryClient();
  const isMe = useMe().id === user.id;
  const params = { params: { path: { id: user.id } } };
  const refresh = () => queries.invalidateQueries({ queryKey: ["users"] });
  const change = useMutation({
    mutationFn: (body: { is_active?: boolean; is_staff?: boolean }) =>
      unwrap(api.PATCH("/api/v1/users/{id}", { ...params, body })),
    onSuccess: refresh,
  });
  const link = useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/users/{id}/password-link", params)) });
  const signOut = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/users/{id}/sessions", params)) });

  return (
    <Table.Tr>
      <Table.Td>
        {user.username} {user.is_staff && <Badge color="blue">Administrator</Badge>}{" "}
        {!user.is_active && <Badge color="gray">Deactivated</Badge>}
        {user.email && (
          <Text size="xs" c="dimmed">
            {user.email}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{user.memberships.map(({ organisation, role }) => `${organisation.name} (${role})`).join(", ") || "–"}</Table.Td>
      <Table.Td>{user.last_sign_in_at ? <RelativeTime at={user.last_sign_in_at} /> : "Never"}</Table.Td>
      <Table.Td>
        <RelativeTime at={user.created_at} />
      </Table.Td>
      <Table.Td>
        {link.data ? (
          <SecretOnce
            title={`${user.username} sets a new password here`}
            text="Copy the link now: it works once, for three days, and is not shown again."
            secret={link.data.link}
            label="The link"
            onDone={link.reset}
          />
        ) : (
          <Group gap="xs" justify="flex-end">
            {user.is_active && (
              <Button
                size="xs"
                variant="default"
                loading={link.isPending}
                aria-label={`Make a password link for ${user.username}`}
                onClick={() => link.mutate()}
              >
                Reset password
              </Button>
            )}
            {!isMe && (
              <>
                <Button size="xs" variant="default" loading={signOut.isPending} aria-label={`Sign ${user.username} out everywhere`} onClick={() => signOut.mutate()}>
                  {signOut.data ? `Signed out of ${signOut.data.n_sessions}` : "Sign out"}
                </Button>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={user.is_staff ? `Make ${user.username} an ordinary user` : `Make ${user.username} an administrator`}
                  onClick={() => change.mutate({ is_staff: !user.is_staff })}
                >
                  {user.is_staff ? "Make ordinary" : "Make administrator"}
                </Button>
                {user.is_active ? (
                  <ConfirmButton
                    label="Deactivate"
                    ariaLabel={`Deactivate ${user.username}`}
                    size="xs"
                    title={`Deactivate ${user.username}?`}
                    text="Sessions end at once and tokens are refused. Jobs go on. The account can be reactivated."
                    action={() => change.mutateAsync({ is_active: false })}
                  />
                ) : (
                  <Button size="xs" aria-label={`Reactivate ${user.username}`} onClick={() => change.mutate({ is_active: true })}>
                    Reactivate
                  </Button>
                )}
                <DeleteUser user={user} />
              </>
            )}
          </Group>
        )}
        <ProblemAlert error={change.error ?? link.error ?? signOut.error} />
      </Table.Td>
    </Table.Tr>
  );
}
