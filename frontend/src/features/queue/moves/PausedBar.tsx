// SPDX-License-Identifier: Apache-2.0
// A job that was paused while it was pending, with the button that resumes it.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { resume } from "../queries";

interface Props {
  job: { id: string; name: string };
  onClose: () => void;
}

export function PausedBar({ job, onClose }: Props) {
  const queries = useQueryClient();
  const undo = useMutation({ mutationFn: () => resume(queries, job.id), onSuccess: onClose });
  return (
    <Paper withBorder p="xs" role="region" aria-label={t`What was done`}>
      <Group gap="xs">
        <Text size="sm" role="status">
          {t`${job.name} is paused: it is out of the queue until it is resumed.`}
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
