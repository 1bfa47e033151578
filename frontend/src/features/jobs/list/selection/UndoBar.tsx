// SPDX-License-Identifier: Apache-2.0
// What was done to many jobs, with the button that takes it back. It stays until it is used or closed.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, Paper, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { RefusedJobs } from "./RefusedJobs";
import { type Undo, takeBack } from "./bulk";
import { tagsQuery } from "../tags";

interface Props {
  undo: Undo;
  onClose: () => void;
  /** The jobs of these ids are as they were left. */
  onDone: (ids: readonly string[]) => void;
}

export function UndoBar({ undo, onClose, onDone }: Props) {
  const queries = useQueryClient();
  const run = useMutation({
    mutationFn: () => takeBack(undo),
    onSettled: () => {
      onDone(undo.ids);
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      void queries.invalidateQueries({ queryKey: tagsQuery.queryKey });
    },
    onSuccess: (outcomes) => {
      if (outcomes.every(({ refusal }) => refusal === "")) onClose();
    },
  });
  return (
    <Paper withBorder p="xs" role="region" aria-label={t`What was done`}>
      <Group gap="xs">
        <Text size="sm" role="status">
          {doneText(undo)}
        </Text>
        {run.data === undefined && (
          <Button size="xs" variant="default" loading={run.isPending} onClick={() => run.mutate()}>
            {t`Undo`}
          </Button>
        )}
        <Button size="xs" variant="subtle" onClick={onClose}>
          {t`Close`}
        </Button>
      </Group>
      {run.data !== undefined && <RefusedJobs outcomes={run.data} />}
      <ProblemAlert error={run.error} />
    </Paper>
  );
}

/** What the act did that is taken back by this. */
function doneText({ action, ids, tag }: Undo): string {
  const jobs = plural(ids.length, { one: "# job", other: "# jobs" });
  switch (action) {
    case "resume":
      return t`Paused: ${jobs}.`;
    case "pause":
      return t`Resumed: ${jobs}.`;
    case "untag":
      return t`Tagged ${tag}: ${jobs}.`;
    case "tag":
      return t`No longer tagged ${tag}: ${jobs}.`;
    case "priority":
      return t`Another priority: ${jobs}.`;
  }
}
