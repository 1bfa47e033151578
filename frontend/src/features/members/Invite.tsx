// SPDX-License-Identifier: Apache-2.0
// Invites a person by a link, or by user name: the answer does not say whether there is such an account.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Paper, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { Role } from "@/api/types";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { rolesGivenBy } from "@/domain/role";

function mailText({ email = "", is_mailed: isMailed }: { email?: string; is_mailed: boolean | null }): string {
  if (isMailed) return t`It was sent to ${email}.`;
  const hand = t`Give it to the person you invite.`;
  return isMailed === false ? t`No mail was sent to ${email}: there is no mail server, or it did not take it. ${hand}` : hand;
}

interface Props {
  organisationId: string;
  isOwner: boolean;
  /** An administrator of the platform, who may also add people without asking them. */
  isStaff: boolean;
}

export function Invite({ organisationId, isOwner, isStaff }: Props) {
  const queries = useQueryClient();
  const [username, setUsername] = useState("");
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const invite = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/organisations/{id}/invitations", {
          params: { path: { id: organisationId } },
          body: { username: username.trim(), email: username.trim() ? "" : email.trim(), role },
        }),
      ),
    onSuccess: () => {
      setUsername("");
      setEmail("");
      return queries.invalidateQueries({ queryKey: ["members", organisationId] });
    },
  });
  const add = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/organisations/{id}/members", { params: { path: { id: organisationId } }, body: { username: username.trim(), role } })),
    onSuccess: ({ user }) => {
      setUsername("");
      notifications.show({ message: t`${user.username} is a member now.`, color: "teal" });
      return queries.invalidateQueries({ queryKey: ["members", organisationId] });
    },
  });
  const error = invite.error ?? add.error;
  const problem = error instanceof Problem ? error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    add.reset();
    invite.mutate();
  }

  if (invite.data?.link) {
    return (
      <SecretOnce
        title={t`This link lets one person join as ${invite.data.role}`}
        text={[mailText(invite.data), t`It works once, for 14 days, and is not shown again.`].join(" ")}
        secret={invite.data.link}
        label={t`The link`}
        onDone={invite.reset}
      />
    );
  }
  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label={t`Invite a person`}>
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md" verticalSpacing="sm" style={{ alignItems: "end" }}>
            <TextInput
              label={t`User name`}
              description={t`Empty: a link is made, also for people without an account.`}
              maxLength={150}
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
              error={problem?.of("username")}
            />
            <TextInput
              label={t`E-mail`}
              type="email"
              description={t`Where the link is sent, if mail is set up.`}
              disabled={username.trim() !== ""}
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={problem?.of("email")}
            />
            <NativeSelect
              label={t`Role`}
              description={t`It can be changed later.`}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as Role)}
              data={rolesGivenBy({ isOwner })}
              error={problem?.of("role")}
            />
          </SimpleGrid>
          <ProblemAlert error={error} />
          <Group justify="flex-end">
            {isStaff && username.trim() !== "" && (
              <Button
                variant="default"
                loading={add.isPending}
                onClick={() => {
                  invite.reset();
                  add.mutate();
                }}
              >
                {t`Add without asking`}
              </Button>
            )}
            <Button type="submit" loading={invite.isPending}>
              {username.trim() === "" ? t`Make a link` : t`Invite`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
