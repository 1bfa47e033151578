// SPDX-License-Identifier: Apache-2.0
// A titled part of a page; a titled card of one.
import { Group, Paper, Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface SectionProps {
  title: string;
  order?: 2 | 3;
  /** Next to the title. */
  aside?: ReactNode;
  children: ReactNode;
}

export function Section({ title, order = 2, aside, children }: SectionProps) {
  return (
    <Stack component="section" gap="xs" aria-label={title}>
      <Group justify="space-between" wrap="nowrap" align="start">
        <Title order={order} size={order === 2 ? "h4" : "h5"}>
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Stack>
  );
}

interface CardProps {
  title: string;
  /** Next to the title. */
  aside?: ReactNode;
  children: ReactNode;
}

export function SectionCard({ title, aside, children }: CardProps) {
  return (
    <Paper component="section" withBorder p="md" aria-label={title}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Paper>
  );
}
