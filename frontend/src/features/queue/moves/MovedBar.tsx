// SPDX-License-Identifier: Apache-2.0
// A move that was made, with the button that takes it back.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { givePriority } from "../queries";

export interface Moved {
  job: { id: string; name: string };
  priority: number;
  formerPriority: number;
}

export function MovedBar({ moved, onClose }: { moved: Moved; onClose: () => void }) {
  const queries = useQueryClient();
  const undo = useMutation({ mutationFn: () => givePriority(queries, moved.job.id, moved.formerPriority), onSuccess: onClose });
  return (
    <Paper withBorder p="xs" role="region" aria-label={t`What was done`}>
      <Group gap="xs">
        <Text size="sm" role="status">
          {t`${moved.job.name} has priority ${moved.priority} now; the next round moves it.`}
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
