// SPDX-License-Identifier: Apache-2.0
// Asks before something is done to many jobs: what it would mean for them, and after it what was refused.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";

import type { JobRow } from "../tableRows";
import { tagsQuery } from "../tags";
import { ACTION_LABELS } from "./actions";
import { type BulkAction, type Undo, type Value, act, consequences, undoOf } from "./bulk";
import { RefusedJobs } from "./RefusedJobs";

const MOST_PRIORITY = 100;

interface Props {
  jobs: readonly JobRow[];
  /** The jobs of these ids are as the action left them. */
  onDone: (ids: readonly string[]) => void;
  action: BulkAction;
  onClose: () => void;
  onUndo: (undo: Undo | null) => void;
}

export function ConfirmAct({ action, jobs, onClose, onDone, onUndo }: Props) {
  const queries = useQueryClient();
  const [tag, setTag] = useState("");
  const [priority, setPriority] = useState<number | string>("");
  const [nDone, setDone] = useState(0);
  const needsTag = action === "tag" || action === "untag";
  const run = useMutation({
    mutationFn: ({ asked, value }: { asked: readonly JobRow[]; value: Value }) => act(action, asked.map(({ id }) => id), value, setDone),
    onSettled: () => {
      onDone(jobs.map(({ id }) => id));
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      void queries.invalidateQueries({ queryKey: tagsQuery.queryKey });
    },
    onSuccess: (outcomes, { asked, value }) => {
      onUndo(undoOf(action, asked, value, outcomes));
      if (outcomes.every(({ refusal }) => refusal === "")) onClose();
    },
  });
  const isDangerous = action === "cancel" || action === "delete";
  return (
    <Dialog
      opened
      onClose={onClose}
      title={`${ACTION_LABELS[action]} ${plural(jobs.length, { one: "# job", other: "# jobs" })}?`}
    >
      <Stack gap="sm">
        {run.data === undefined ? <Before action={action} jobs={jobs} /> : <RefusedJobs outcomes={run.data} />}
        {needsTag && run.data === undefined && (
          <TextInput label={t`Tag`} data-autofocus maxLength={50} value={tag} onChange={(event) => setTag(event.currentTarget.value)} />
        )}
        {action === "priority" && run.data === undefined && (
          <NumberInput
            label={t`Priority`}
            description={t`-100 to 100; higher goes first.`}
            data-autofocus
            allowDecimal={false}
            min={-MOST_PRIORITY}
            max={MOST_PRIORITY}
            value={priority}
            onChange={setPriority}
          />
        )}
        <ProblemAlert error={run.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {run.data === undefined ? t`Leave them as they are` : t`Close`}
          </Button>
          {run.data === undefined && (
            <Button
              {...(isDangerous ? { color: "red" } : {})}
              loading={run.isPending}
              disabled={(needsTag && tag.trim() === "") || (action === "priority" && typeof priority !== "number")}
              onClick={() => run.mutate({ asked: jobs, value: valueOf(action, tag, priority) })}
            >
              {ACTION_LABELS[action]} {plural(jobs.length, { one: "# job", other: "# jobs" })}
            </Button>
          )}
        </Group>
        {run.isPending && <Text size="sm" role="status">{t`${nDone} of ${plural(jobs.length, { one: "# job", other: "# jobs" })} done`}</Text>}
      </Stack>
    </Dialog>
  );
}

function valueOf(action: BulkAction, tag: string, priority: number | string): Value {
  if (action === "priority") return { tag: "", priority: Number(priority) };
  return { tag: action === "tag" || action === "untag" ? tag.trim() : "" };
}

function Before({ action, jobs }: { action: BulkAction; jobs: readonly JobRow[] }) {
  return (
    <Stack gap={4}>
      {consequences(action, jobs).map((sentence) => (
        <Text key={sentence} size="sm">
          {sentence}
        </Text>
      ))}
    </Stack>
  );
}
