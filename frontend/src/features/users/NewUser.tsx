// SPDX-License-Identifier: Apache-2.0
// Makes an account and shows the link at which its user sets the password, once.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Group, NativeSelect, Paper, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { Role } from "@/api/types";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { OrganisationSelect } from "@/components/form/choice/OrganisationSelect";
import { rolesGivenBy } from "@/domain/role";

export function NewUser() {
  const queries = useQueryClient();
  const [username, setUsername] = useState("");
  const [email, setEmail] = useState("");
  const [organisation, setOrganisation] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [isStaff, setIsStaff] = useState(false);
  const create = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/users", {
          body: { username: username.trim(), email: email.trim(), is_staff: isStaff, organisation: organisation || null, role },
        }),
      ),
    onSuccess: () => {
      setUsername("");
      setEmail("");
      setIsStaff(false);
      void queries.invalidateQueries({ queryKey: ["users"] });
    },
  });
  const problem = create.error instanceof Problem ? create.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    create.mutate();
  }

  if (create.data) {
    return (
      <SecretOnce
        title={t`The account ${create.data.username} is made`}
        text={t`Give this link to its user, who sets the password there. It works once, for three days, and is not shown again.`}
        secret={create.data.link}
        label={t`The link`}
        onDone={create.reset}
      />
    );
  }
  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label={t`New user`}>
        <Stack>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="md" verticalSpacing="sm">
            <TextInput
              label={t`User name`}
              maxLength={150}
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
              error={problem?.of("username")}
            />
            <TextInput
              label={t`E-mail`}
              type="email"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={problem?.of("email")}
            />
            <OrganisationSelect none={t`None`} value={organisation} onChange={setOrganisation} />
            <NativeSelect
              label={t`Role`}
              disabled={organisation === ""}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as Role)}
              data={rolesGivenBy({ isOwner: true })}
              error={problem?.of("role")}
            />
          </SimpleGrid>
          <Checkbox
            label={t`Administrator of the platform`}
            checked={isStaff}
            onChange={(event) => setIsStaff(event.currentTarget.checked)}
          />
          <ProblemAlert error={create.error} />
          <Group justify="flex-end">
            <Button type="submit" loading={create.isPending} disabled={username.trim() === ""}>
              {t`Create user`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
