// SPDX-License-Identifier: Apache-2.0
// Replaces the token of a machine's agent, and shows the command with the new one.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { AgentCommand } from "@/features/cluster/machines/AgentCommand";
import { useReread } from "@/features/cluster/machines/queries";
import { number } from "@/lib/quantities";

interface Props {
  name: string;
  /** Within which an agent that starts again takes over what runs there. */
  takeoverS: number;
}

export function NewAgentToken({ name, takeoverS }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const reread = useReread();
  const make = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/agents", { body: { name, must_be_new: false } })),
    onSuccess: () => void reread(),
  });
  const done = () => {
    close();
    make.reset();
  };
  const isShown = make.data !== undefined;
  return (
    <>
      <Button variant="default" size="xs" onClick={open} aria-label={t`New token for ${name}`}>
        {t`New token`}
      </Button>
      <Dialog opened={isOpen} onClose={done} title={t`New token for ${name}`} size="lg" closeOnClickOutside={!isShown} closeOnEscape={!isShown}>
        {make.data ? (
          <AgentCommand name={name} token={make.data.token} onDone={done} />
        ) : (
          <Stack>
            <Text size="sm">
              {t`Its present token is refused at once. Jobs that run there continue if its agent is started again with the new one within ${number(Math.floor(takeoverS))} s; otherwise they save a checkpoint and continue elsewhere.`}
            </Text>
            <ProblemAlert error={make.error} />
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={done}>
                {t`Cancel`}
              </Button>
              <Button loading={make.isPending} onClick={() => make.mutate()}>
                {t`Replace the token`}
              </Button>
            </Group>
          </Stack>
        )}
      </Dialog>
    </>
  );
}
