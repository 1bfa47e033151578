// SPDX-License-Identifier: Apache-2.0
// What a list shows when it has nothing to show, and what to do about that.
import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  text?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ title, text, action }: Props) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs" ta="center">
        <Title order={2} size="h4">
          {title}
        </Title>
        {text && (
          <Text c="dimmed" size="sm" maw={460}>
            {text}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  );
}
