// SPDX-License-Identifier: Apache-2.0
// A column's values at a glance: a histogram of numbers and dates, bars of the most frequent categories, or examples.
import { t } from "@lingui/core/macro";
import { Box, Group, Stack, Text } from "@mantine/core";

import { HistogramBars } from "@/features/datasets/columns/HistogramBars";
import type { ColumnStatistics } from "@/features/datasets/columns/statistics";
import { number, percent } from "@/lib/quantities";

const WIDTH = 140;
const HEIGHT = 36;
const MOST_BARS = 4;

export function Distribution({ column, nRows }: { column: ColumnStatistics; nRows: number }) {
  if (column.histogram) {
    const [from, to] = column.range ?? ["", ""];
    const label = t`Histogram of ${column.name}, from ${from} to ${to}`;
    return <HistogramBars counts={column.histogram.counts} from={from} to={to} label={label} width={WIDTH} height={HEIGHT} />;
  }
  if (column.top.length > 0) return <TopValues column={column} nRows={nRows} />;
  return (
    <Text size="xs" c="dimmed" maw={220} lineClamp={2} style={{ overflowWrap: "anywhere" }}>
      {column.examples.join(", ") || "–"}
    </Text>
  );
}

function TopValues({ column, nRows }: { column: ColumnStatistics; nRows: number }) {
  const most = column.top[0]?.n ?? 1;
  return (
    <Stack gap={2} w={WIDTH + 60}>
      {column.top.slice(0, MOST_BARS).map(({ value, n }) => (
        <Box key={value} pos="relative" title={`${value}: ${number(n)}`}>
          <Box
            pos="absolute"
            inset={0}
            w={`${String((100 * n) / most)}%`}
            bg="var(--mantine-primary-color-light)"
            style={{ borderRadius: 2 }}
          />
          <Group justify="space-between" gap={4} wrap="nowrap" px={4} pos="relative">
            <Text size="xs" truncate dir="auto">
              {value}
            </Text>
            <Text size="xs">{percent(n / Math.max(1, nRows))}</Text>
          </Group>
        </Box>
      ))}
      {column.top.length > MOST_BARS && (
        <Text size="xs" c="dimmed">
          {column.nDistinct === undefined ? t`and many more` : t`of ${number(column.nDistinct)}`}
        </Text>
      )}
    </Stack>
  );
}
