// SPDX-License-Identifier: Apache-2.0
// Names and values, side by side where there is room.
import { Box, SimpleGrid, Text } from "@mantine/core";
import type { ReactNode } from "react";

export type Fact = [name: string, value: ReactNode];

export function Facts({ facts, cols = 4 }: { facts: Fact[]; cols?: number }) {
  return (
    <SimpleGrid component="dl" cols={{ base: 2, sm: cols }} spacing="md" verticalSpacing="sm" m={0}>
      {facts.map(([name, value]) => (
        <Box key={name} miw={0}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} style={{ overflowWrap: "anywhere" }}>
            {value}
          </Text>
        </Box>
      ))}
    </SimpleGrid>
  );
}
