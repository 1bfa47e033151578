// SPDX-License-Identifier: Apache-2.0
// The frame of the pages for people who are not signed in: one card in the middle.
import { Center, Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function AccountPaper({ title, text, children }: { title: string; text: ReactNode; children: ReactNode }) {
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420}>
        <Stack>
          <div>
            <Title order={1} size="h2">
              {title}
            </Title>
            <Text size="sm" c="dimmed">
              {text}
            </Text>
          </div>
          {children}
        </Stack>
      </Paper>
    </Center>
  );
}
