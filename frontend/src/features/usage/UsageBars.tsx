// SPDX-License-Identifier: Apache-2.0
// GPU-hours as stacked bars, one a day: useful, start-up, lost. The table of days says the same in numbers.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group, Stack, Text } from "@mantine/core";

import type { UsageRow } from "@/api/types";
import { gpuHours } from "@/features/usage/quantities";

import classes from "./usage.module.css";

export const PARTS = [
  { kind: "useful", label: t`useful`, of: (row: UsageRow) => row.useful_gpu_hours },
  { kind: "startup", label: t`start-up`, of: (row: UsageRow) => row.startup_gpu_hours },
  { kind: "lost", label: t`lost`, of: (row: UsageRow) => row.lost_gpu_hours },
] as const;

export function UsageBars({ days }: { days: readonly UsageRow[] }) {
  const most = Math.max(...days.map((row) => row.gpu_hours), 0);
  return (
    <Stack gap={4}>
      <Group gap="md">
        {PARTS.map(({ kind, label }) => (
          <Group key={kind} gap={6}>
            <span className={classes.mark} data-kind={kind} aria-hidden />
            <Text size="xs">{label}</Text>
          </Group>
        ))}
        <Text size="xs" c="dimmed" ml="auto">
          {t`most a day: ${gpuHours(most)}`}
        </Text>
      </Group>
      <div className={classes.days} role="img" aria-label={t`GPU-hours of ${plural(days.length, { one: "# day", other: "# days" })}, at most ${gpuHours(most)} a day`}>
        {days.map((row) => (
          <div key={row.key} className={classes.day} title={`${row.name}: ${gpuHours(row.gpu_hours)}`}>
            {PARTS.map(({ kind, of }) => (
              <div key={kind} data-kind={kind} style={{ height: `${most === 0 ? 0 : (of(row) / most) * 100}%` }} />
            ))}
          </div>
        ))}
      </div>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {days[0]?.name}
        </Text>
        <Text size="xs" c="dimmed">
          <Trans>
            {days.at(-1)?.name} (UTC)
          </Trans>
        </Text>
      </Group>
    </Stack>
  );
}
