// SPDX-License-Identifier: Apache-2.0
// Probabilities as bars, the largest first.
import { t } from "@lingui/core/macro";
import { Group, Progress, Stack, Text } from "@mantine/core";

import type { Bar } from "./inputs";

export function Bars({ bars }: { bars: Bar[] }) {
  return (
    <Stack gap={6} role="list" aria-label={t`Probabilities`}>
      {bars.map(({ name, value }) => (
        <div key={name} role="listitem">
          <Group justify="space-between" wrap="nowrap" gap="xs">
            <Text size="sm" truncate dir="auto">
              {name}
            </Text>
            <Text size="sm" ff="monospace">
              {(100 * value).toFixed(1)} %
            </Text>
          </Group>
          <Progress value={100 * value} aria-label={name} />
        </div>
      ))}
    </Stack>
  );
}
