// SPDX-License-Identifier: Apache-2.0
// Where GPU-hours go, as a waterfall: each part that is no use hangs at the end of what was left before it.
import { t } from "@lingui/core/macro";
import { Group, Stack, Text } from "@mantine/core";
import { useRef } from "react";

import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { gpuHours, part } from "@/features/usage/quantities";
import { csvOf } from "@/lib/download";

import classes from "./WasteWaterfall.module.css";
import type { Step } from "./waterfall";

export function WasteWaterfall({ title, steps }: { title: string; steps: readonly Step[] }) {
  const drawing = useRef<HTMLDivElement>(null);
  const held = steps[0]?.hours ?? 0;
  if (held <= 0) return null;
  const share = (hours: number) => `${Math.min(100, (100 * hours) / held)}%`;
  return (
    <Stack gap={4} ref={drawing} mb="md">
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <FigureMenu name={title} of={drawing} csv={() => csvOf([["part", "gpu_hours"], ...steps.map(({ kind, hours }) => [kind, hours])])} />
      </Group>
      <dl className={classes.steps} aria-label={title}>
        {steps.map(({ kind, label, hours, from, isLoss }) => (
          <div key={kind} className={classes.step}>
            <Text component="dt" size="xs">
              {label}
            </Text>
            <div className={classes.track} aria-hidden>
              <div className={classes.bar} data-kind={kind} data-empty={hours === 0 || undefined} style={{ marginInlineStart: share(from), width: share(hours) }} />
            </div>
            <Text component="dd" size="xs" className={classes.value}>
              {kind === "held" ? gpuHours(hours) : isLoss ? t`− ${part(hours, held)}` : part(hours, held)}
            </Text>
          </div>
        ))}
      </dl>
    </Stack>
  );
}
