// SPDX-License-Identifier: Apache-2.0
// Names with the share of each, as bars with numbers.
import { Box, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { csvOf } from "@/lib/download";
import { percent } from "@/lib/quantities";

import classes from "./ShareBars.module.css";

interface Props {
  /** share: 0 to 1; note: behind its number. */
  shares: readonly { name: string; share: number; note?: ReactNode }[];
}

export function ShareBars({ shares }: Props) {
  return shares.map(({ name, share, note }) => (
    <Box key={name} maw={640}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <Text size="sm" style={{ whiteSpace: "nowrap" }}>
          {percent(share)}
          {note}
        </Text>
      </Group>
      <div className={classes.bar} style={{ width: `${100 * share}%` }} aria-hidden />
    </Box>
  ));
}

export function csvOfShares(shares: Props["shares"]): string {
  return csvOf([["name", "share"], ...shares.map(({ name, share }) => [name, share])]);
}
