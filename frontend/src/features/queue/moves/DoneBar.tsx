// SPDX-License-Identifier: Apache-2.0
// What was done to a job of the queue, with the button that takes it back.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";

interface Props {
  text: string;
  takeBack: () => Promise<void>;
  onClose: () => void;
}

export function DoneBar({ text, takeBack, onClose }: Props) {
  const undo = useMutation({ mutationFn: takeBack, onSuccess: onClose });
  return (
    <Paper withBorder p="xs" role="region" aria-label={t`What was done`}>
      <Group gap="xs">
        <Text size="sm" role="status">
          {text}
        </Text>
        <Button size="xs" variant="default" loading={undo.isPending} onClick={() => undo.mutate()}>
          {t`Undo`}
        </Button>
        <Button size="xs" variant="subtle" onClick={onClose}>
          {t`Close`}
        </Button>
      </Group>
      <ProblemAlert error={undo.error} />
    </Paper>
  );
}
