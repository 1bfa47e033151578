// SPDX-License-Identifier: Apache-2.0
// Another e-mail address for an account: notices and links for a forgotten password go there.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Problem, api, unwrap } from "@/api/client";
import type { User } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";

export function ChangeEmail({ user }: { user: User }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const label = t`Change e-mail`;
  return (
    <>
      <Button size="xs" variant="default" onClick={open} aria-label={`${label}: ${user.username}`}>
        {label}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={t`E-mail address of ${user.username}`}>
        <EmailForm user={user} onClose={close} />
      </Dialog>
    </>
  );
}

function EmailForm({ user, onClose }: { user: User; onClose: () => void }) {
  const queries = useQueryClient();
  const [email, setEmail] = useState(user.email);
  const save = useMutation({
    mutationFn: () => unwrap(api.PATCH("/api/v1/users/{id}", { params: { path: { id: user.id } }, body: { email: email.trim() } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["users"] });
      onClose();
    },
  });
  const problem = save.error instanceof Problem ? save.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate();
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={t`E-mail`}
          description={t`Empty: the account gets no mail.`}
          type="email"
          maxLength={254}
          data-autofocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={problem?.of("email")}
        />
        <ProblemAlert error={save.error} atFields={["email"]} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t`Cancel`}
          </Button>
          <Button type="submit" loading={save.isPending} disabled={email.trim() === user.email}>
            {t`Save`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
