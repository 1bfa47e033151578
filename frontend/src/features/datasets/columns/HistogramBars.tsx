// SPDX-License-Identifier: Apache-2.0
// A histogram as bars, with what the first one begins at and the last one ends at below it.
import { Group, Stack, Text } from "@mantine/core";

import { number } from "@/lib/quantities";

interface Props {
  counts: readonly number[];
  from: string;
  to: string;
  label: string;
  /** Pixels; a narrower place narrows it. */
  width: number;
  height: number;
}

export function HistogramBars({ counts, from, to, label, width, height }: Props) {
  const most = Math.max(...counts, 1);
  const step = width / counts.length;
  return (
    <Stack gap={0} w={width} maw="100%">
      <svg viewBox={`0 0 ${String(width)} ${String(height)}`} width="100%" height={height} preserveAspectRatio="none" role="img" aria-label={label}>
        {counts.map((count, index) => {
          const barHeight = count === 0 ? 0 : Math.max(1, (count / most) * height);
          return (
            <rect
              key={index}
              x={index * step}
              y={height - barHeight}
              width={Math.max(1, step - 1)}
              height={barHeight}
              fill="var(--mantine-primary-color-filled)"
            >
              <title>{number(count)}</title>
            </rect>
          );
        })}
      </svg>
      <Group justify="space-between" gap={4} wrap="nowrap">
        <Text size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
          {from}
        </Text>
        <Text size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
          {to}
        </Text>
      </Group>
    </Stack>
  );
}
