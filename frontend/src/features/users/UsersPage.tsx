// SPDX-License-Identifier: Apache-2.0
// The accounts of the platform: made, changed and deleted by its administrators.
import { t } from "@lingui/core/macro";
import { Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";

import { api, unwrap } from "@/api/client";
import { isStaff, useMe } from "@/api/session";
import type { User } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SecretOnce } from "@/components/display/SecretOnce";
import { AdministratorsOnly } from "@/components/feedback/AdministratorsOnly";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Page } from "@/components/layout/Page";
import { SearchedTable } from "@/components/table/SearchedTable";
import { ChangeEmail } from "@/features/users/ChangeEmail";
import { DeleteUser } from "@/features/users/DeleteUser";
import { NewUser } from "@/features/users/NewUser";
import { SeeAsUser } from "@/features/users/SeeAsUser";
import { readUsers } from "@/features/users/queries";

export function UsersPage() {
  if (!isStaff(useMe())) {
    return (
      <Page title={t`Users`}>
        <AdministratorsOnly text={t`The people of your organisations are among its members.`} to="/members" page={t`Members`} />
      </Page>
    );
  }
  return (
    <Page title={t`Users`} subtitle={t`The accounts of this MLHub. Each person sets the password at a link that works once.`}>
      <NewUser />
      <SearchedTable
        name="search"
        searchedBy={t`Name or e-mail address`}
        label={t`Users`}
        head={[t`Name`, t`Belongs to`, t`Last sign-in`, t`Created`, ""]}
        minWidth={900}
        queryKey={["users", "list"]}
        read={readUsers}
        empty={
          <EmptyState
            title={t`No users`}
            text={t`No account has these letters in its name or e-mail address.`}
            action={
              <Button variant="default" component={Link} to="/users">
                {t`Show all users`}
              </Button>
            }
          />
        }
        row={(user) => <Row key={user.id} user={user} />}
      />
    </Page>
  );
}

function Row({ user }: { user: User }) {
  const queries = useQueryClient();
  const [isMore, more] = useDisclosure(false);
  const isMe = useMe().id === user.id;
  const params = { params: { path: { id: user.id } } };
  const refresh = () => queries.invalidateQueries({ queryKey: ["users"] });
  const change = useMutation({
    mutationFn: (body: { is_active?: boolean; is_staff?: boolean }) =>
      unwrap(api.PATCH("/api/v1/users/{id}", { ...params, body })),
    onSuccess: refresh,
  });
  const link = useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/users/{id}/password-link", params)) });
  const reset = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/users/{id}/second-factor", params)) });
  const signOut = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/users/{id}/sessions", params)) });
  const signOutLabel = signOut.data ? t`Signed out of ${signOut.data.n_sessions}` : t`Sign out`;
  const roleLabel = user.is_staff ? t`Make ordinary` : t`Make administrator`;

  return (
    <Table.Tr>
      <Table.Td>
        {user.username} {user.is_staff && <Badge color="blue">{t`Administrator`}</Badge>}{" "}
        {!user.is_active && <Badge color="gray">{t`Deactivated`}</Badge>}
        {user.service_of && (
          <Text size="xs" c="dimmed">
            {t`Service account of ${user.service_of.name}`}
          </Text>
        )}
        {user.email && (
          <Text size="xs" c="dimmed">
            {user.email}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{user.memberships.map(({ organisation, role }) => `${organisation.name} (${role})`).join(", ") || "–"}</Table.Td>
      <Table.Td>{user.last_sign_in_at ? <RelativeTime at={user.last_sign_in_at} /> : t`Never`}</Table.Td>
      <Table.Td>
        <RelativeTime at={user.created_at} />
      </Table.Td>
      <Table.Td>
        {link.data ? (
          <SecretOnce
            title={t`${user.username} sets a new password here`}
            text={t`Copy the link now: it works once, for three days, and is not shown again.`}
            secret={link.data.link}
            label={t`The link`}
            onDone={link.reset}
          />
        ) : (
          <Stack gap="xs" align="flex-end">
            <Group gap="xs" justify="flex-end" wrap="nowrap">
              {user.is_active && user.service_of === null && (
                <Button
                  size="xs"
                  variant="default"
                  loading={link.isPending}
                  aria-label={t`Reset password of ${user.username}`}
                  onClick={() => link.mutate()}
                >
                  {t`Reset password`}
                </Button>
              )}
              {!isMe &&
                (user.is_active ? (
                  <ConfirmButton
                    label={t`Deactivate`}
                    ariaLabel={t`Deactivate ${user.username}`}
                    size="xs"
                    title={t`Deactivate ${user.username}?`}
                    text={t`Sessions end at once and tokens are refused. Jobs go on. The account can be reactivated.`}
                    action={() => change.mutateAsync({ is_active: false })}
                  />
                ) : (
                  <Button size="xs" variant="default" aria-label={t`Reactivate ${user.username}`} onClick={() => change.mutate({ is_active: true })}>
                    {t`Reactivate`}
                  </Button>
                ))}
              {isMe && <ChangeEmail user={user} />}
              {!isMe && (
                <Button size="xs" variant="subtle" aria-expanded={isMore} aria-label={isMore ? t`Less for ${user.username}` : t`More for ${user.username}`} onClick={more.toggle}>
                  {isMore ? t`Less` : t`More`}
                </Button>
              )}
            </Group>
            {isMore && (
              <Group gap="xs" justify="flex-end">
                {user.service_of === null && (
                  <>
                    {user.is_active && !user.is_staff && <SeeAsUser user={user} />}
                    <ChangeEmail user={user} />
                    <ConfirmButton
                      label={signOutLabel}
                      ariaLabel={`${signOutLabel}: ${user.username}`}
                      title={t`Sign ${user.username} out of all browsers?`}
                      text={t`Open pages, streams and downloads end at once. Jobs and API tokens go on.`}
                      action={() => signOut.mutateAsync()}
                    />
                    <ConfirmButton
                      label={roleLabel}
                      ariaLabel={`${roleLabel}: ${user.username}`}
                      title={user.is_staff ? t`Make ${user.username} an ordinary user?` : t`Make ${user.username} an administrator?`}
                      text={
                        user.is_staff
                          ? t`The account keeps its roles in organisations, and loses all others at once. It can be made an administrator again.`
                          : t`The account then sees and changes everything of all organisations, quotas and users included.`
                      }
                      action={() => change.mutateAsync({ is_staff: !user.is_staff })}
                    />
                    <ConfirmButton
                      label={t`Reset second factor`}
                      ariaLabel={t`Reset second factor of ${user.username}`}
                      size="xs"
                      title={t`Remove the second factor of ${user.username}?`}
                      text={t`The authenticator app and all passkeys go; the password alone then signs in. Make sure who asks for it.`}
                      action={() => reset.mutateAsync()}
                    />
                  </>
                )}
                <DeleteUser user={user} />
              </Group>
            )}
          </Stack>
        )}
        <ProblemAlert error={change.error ?? link.error} />
      </Table.Td>
    </Table.Tr>
  );
}
