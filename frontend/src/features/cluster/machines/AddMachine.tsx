// SPDX-License-Identifier: Apache-2.0
// A button, and the dialogue that makes the token of a further machine's agent.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { AgentCommand } from "@/features/cluster/machines/AgentCommand";
import { useReread } from "@/features/cluster/machines/queries";

export function AddMachine() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [name, setName] = useState("");
  const reread = useReread();
  const make = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/agents", { body: { name: name.trim(), must_be_new: true } })),
    onSuccess: () => void reread(),
  });
  const problem = make.error instanceof Problem ? make.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  function done() {
    close();
    setName("");
    make.reset();
  }

  return (
    <>
      <Button size="xs" onClick={open}>
        {t`Add a machine`}
      </Button>
      {/* what is shown once does not go by a click next to it */}
      <Dialog opened={isOpen} onClose={done} title={t`Add a machine`} size="lg" closeOnClickOutside={!make.data} closeOnEscape={!make.data}>
        {make.data ? (
          <AgentCommand name={make.data.agent.name} token={make.data.token} onDone={done} />
        ) : (
          <form noValidate onSubmit={submit}>
            <Stack>
              <TextInput
                label={t`Name`}
                description={t`The name of its node, such as its host name: letters, digits and . _ - between them.`}
                placeholder="lab-2"
                required
                data-autofocus
                maxLength={63}
                value={name}
                error={problem?.of("name")}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <ProblemAlert error={make.error} atFields={["name"]} />
              <Group justify="flex-end" gap="xs">
                <Button variant="default" onClick={done}>
                  {t`Cancel`}
                </Button>
                <Button type="submit" loading={make.isPending} disabled={name.trim() === ""}>
                  {t`Make its token`}
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Dialog>
    </>
  );
}
