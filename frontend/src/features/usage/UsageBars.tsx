// SPDX-License-Identifier: Apache-2.0
// GPU-hours as stacked bars, one a day: what became of them, or how busy the GPUs were. The table of days says the same in
// numbers.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group, Stack, Text } from "@mantine/core";
import { useRef } from "react";

import type { UsageRow } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { gpuHours } from "@/features/usage/quantities";
import { csvOf } from "@/lib/download";

import classes from "./usage.module.css";

interface Part {
  kind: string;
  label: string;
  of: (row: UsageRow) => number;
}

export const OUTCOME: readonly Part[] = [
  { kind: "useful", label: t`useful`, of: (row: UsageRow) => row.useful_gpu_hours },
  { kind: "startup", label: t`start-up`, of: (row: UsageRow) => row.startup_gpu_hours },
  { kind: "lost", label: t`lost`, of: (row: UsageRow) => row.lost_gpu_hours },
];

export const BUSY: readonly Part[] = [
  { kind: "busy", label: t`busy`, of: (row: UsageRow) => row.busy_gpu_hours ?? 0 },
  { kind: "idle", label: t`idle`, of: (row: UsageRow) => row.idle_gpu_hours ?? 0 },
  { kind: "unmeasured", label: t`not measured`, of: (row: UsageRow) => Math.max(0, row.gpu_hours - row.measured_gpu_hours) },
];

interface Props {
  days: readonly UsageRow[];
  parts: readonly Part[];
  /** What a screen reader says of the picture. */
  label: string;
}

export function UsageBars({ days, parts, label }: Props) {
  const most = Math.max(...days.map((row) => row.gpu_hours), 0);
  const drawing = useRef<HTMLDivElement>(null);
  return (
    <Stack gap={4} ref={drawing}>
      <Group gap="md">
        {parts.map(({ kind, label: name }) => (
          <Group key={kind} gap={6}>
            <span className={classes.mark} data-kind={kind} aria-hidden />
            <Text size="xs">{name}</Text>
          </Group>
        ))}
        <Text size="xs" c="dimmed" ml="auto">
          {t`most a day: ${gpuHours(most)}`}
        </Text>
        <FigureMenu name={parts.map((one) => one.label).join(", ")} of={drawing} csv={() => csvOfDays(days, parts)} />
      </Group>
      <div className={classes.days} role="img" aria-label={label}>
        {days.map((row) => (
          <div key={row.key} className={classes.day} title={`${row.name}: ${gpuHours(row.gpu_hours)}`}>
            {parts.map(({ kind, of }) => (
              <div key={kind} data-kind={kind} style={{ height: `${most === 0 ? 0 : (of(row) / most) * 100}%` }} />
            ))}
          </div>
        ))}
      </div>
      <Group justify="space-between">
        <Text truncate size="xs" c="dimmed">
          {days[0]?.name}
        </Text>
        <Text truncate size="xs" c="dimmed">
          <Trans>
            {days.at(-1)?.name} (UTC)
          </Trans>
        </Text>
      </Group>
    </Stack>
  );
}

function csvOfDays(days: readonly UsageRow[], parts: readonly Part[]): string {
  const head = ["day", "gpu_hours", ...parts.map(({ kind }) => `${kind}_gpu_hours`)];
  return csvOf([head, ...days.map((row) => [row.name, row.gpu_hours, ...parts.map(({ of }) => of(row))])]);
}
