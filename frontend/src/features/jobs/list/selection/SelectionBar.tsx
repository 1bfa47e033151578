// SPDX-License-Identifier: Apache-2.0
// What can be done to the jobs that are selected. Each act says before what it means for them, and after what was refused.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, Paper, Stack, Text } from "@mantine/core";
import { Suspense, useState } from "react";
import { Link } from "react-router";

import { compareAddress } from "@/domain/compareAddress";
import { lazyComponent } from "@/lib/chunk";

import type { JobRow } from "../tableRows";
import { ACTION_LABELS } from "./actions";
import type { BulkAction, Undo } from "./bulk";
import { UndoBar } from "./UndoBar";

/** Until it is asked for. */
const ConfirmAct = lazyComponent(async () => (await import("./ConfirmAct")).ConfirmAct);

const ACTIONS = Object.keys(ACTION_LABELS) as BulkAction[];
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
            <Suspense fallback={null}>
              <ConfirmAct action={action} jobs={jobs} onClose={() => setAction(null)} onDone={onDone} onUndo={setUndo} />
            </Suspense>
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
          {ACTION_LABELS[name]}
        </Button>
      ))}
      <Button size="xs" variant="subtle" onClick={onClear}>
        {t`Clear selection`}
      </Button>
    </Group>
  );
}
