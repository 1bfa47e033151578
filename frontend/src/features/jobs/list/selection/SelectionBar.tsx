// SPDX-License-Identifier: Apache-2.0
// What can be done to the jobs that are selected. Each act says before what it means for them, and after what was refused.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, Paper, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { compareAddress } from "@/domain/compareAddress";

import { RefusedJobs } from "./RefusedJobs";
import { UndoBar } from "./UndoBar";
import { type BulkAction, type Undo, act, consequences, undoOf } from "./bulk";
import type { JobRow } from "../tableRows";
import { tagsQuery } from "../tags";

const LABELS: Record<BulkAction, string> = {
  pause: t`Pause`,
  resume: t`Resume`,
  tag: t`Tag`,
  untag: t`Remove tag`,
  cancel: t`Cancel`,
  delete: t`Delete`,
};
const ACTIONS = Object.keys(LABELS) as BulkAction[];
const MOST_COMPARED = 1000;

interface Props {
  jobs: readonly JobRow[];
  onClear: () => void;
  /** The jobs of these ids are as the action left them. */
  onDone: (ids: readonly string[]) => void;
}

export function SelectionBar({ jobs, onClear, onDone }: Props) {
  const [action, setAction] = useState<BulkAction | null>(null);
  const [undo, setUndo] = useState<Undo | null>(null);
  if (jobs.length === 0 && undo === null) return null;
  return (
    <Stack gap="xs" pos="sticky" bottom={8} style={{ zIndex: 10 }}>
      {jobs.length > 0 && (
        <Paper withBorder p="xs" role="region" aria-label={t`Selected jobs`}>
          <Acts jobs={jobs} onAct={setAction} onClear={onClear} />
          {action !== null && (
            <Confirm action={action} jobs={jobs} onClose={() => setAction(null)} onDone={onDone} onUndo={setUndo} />
          )}
        </Paper>
      )}
      {undo !== null && action === null && <UndoBar undo={undo} onClose={() => setUndo(null)} onDone={onDone} />}
    </Stack>
  );
}

function Acts({ jobs, onAct, onClear }: Omit<Props, "onDone"> & { onAct: (action: BulkAction) => void }) {
  return (
    <Group gap="xs">
      <Text size="sm" fw={600} role="status">
        {t`${plural(jobs.length, { one: "# job", other: "# jobs" })} selected`}
      </Text>
      <Button
        size="xs"
        component={Link}
        to={compareAddress("jobs", jobs.slice(0, MOST_COMPARED).map(({ id }) => id))}
        disabled={jobs.length > MOST_COMPARED}
      >
        {t`Compare`}
      </Button>
      {ACTIONS.map((name) => (
        <Button
          key={name}
          size="xs"
          variant={name === "cancel" || name === "delete" ? "light" : "default"}
          {...(name === "cancel" || name === "delete" ? { color: "red" } : {})}
          onClick={() => onAct(name)}
        >
          {LABELS[name]}
        </Button>
      ))}
      <Button size="xs" variant="subtle" onClick={onClear}>
        {t`Clear selection`}
      </Button>
    </Group>
  );
}

interface ConfirmProps extends Omit<Props, "onClear"> {
  action: BulkAction;
  onClose: () => void;
  onUndo: (undo: Undo | null) => void;
}

function Confirm({ action, jobs, onClose, onDone, onUndo }: ConfirmProps) {
  const queries = useQueryClient();
  const [tag, setTag] = useState("");
  const [nDone, setDone] = useState(0);
  const needsTag = action === "tag" || action === "untag";
  const run = useMutation({
    mutationFn: ({ asked, word }: { asked: readonly JobRow[]; word: string }) => act(action, asked.map(({ id }) => id), word, setDone),
    onSettled: () => {
      onDone(jobs.map(({ id }) => id));
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      void queries.invalidateQueries({ queryKey: tagsQuery.queryKey });
    },
    onSuccess: (outcomes, { asked, word }) => {
      onUndo(undoOf(action, asked, word, outcomes));
      if (outcomes.every(({ refusal }) => refusal === "")) onClose();
    },
  });
  const isDangerous = action === "cancel" || action === "delete";
  return (
    <Dialog
      opened
      onClose={onClose}
      title={`${LABELS[action]} ${plural(jobs.length, { one: "# job", other: "# jobs" })}?`}
    >
      <Stack gap="sm">
        {run.data === undefined ? <Before action={action} jobs={jobs} /> : <RefusedJobs outcomes={run.data} />}
        {needsTag && run.data === undefined && (
          <TextInput label={t`Tag`} data-autofocus maxLength={50} value={tag} onChange={(event) => setTag(event.currentTarget.value)} />
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
              disabled={needsTag && tag.trim() === ""}
              onClick={() => run.mutate({ asked: jobs, word: needsTag ? tag.trim() : "" })}
            >
              {LABELS[action]} {plural(jobs.length, { one: "# job", other: "# jobs" })}
            </Button>
          )}
        </Group>
        {run.isPending && <Text size="sm" role="status">{t`${nDone} of ${plural(jobs.length, { one: "# job", other: "# jobs" })} done`}</Text>}
      </Stack>
    </Dialog>
  );
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
