// SPDX-License-Identifier: Apache-2.0
// The frame of the pages for people who are not signed in: one card in the middle.
import { t } from "@lingui/core/macro";
import { Anchor, Center, Group, Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

import { chooseLocale, currentLocale, localeNames } from "@/locales/locale";

export function AccountPaper({ title, text, children }: { title: string; text: ReactNode; children: ReactNode }) {
  return (
    <Center component="main" mih="100vh" p="md" style={{ flexDirection: "column" }}>
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
      <Languages />
    </Center>
  );
}

function Languages() {
  const others = localeNames().filter(([locale]) => locale !== currentLocale());
  return (
    <Group component="nav" aria-label={t`Language`} mt="md">
      {others.map(([locale, name]) => (
        <Anchor key={locale} component="button" type="button" size="sm" lang={locale} onClick={() => chooseLocale(locale)}>
          {name}
        </Anchor>
      ))}
    </Group>
  );
}
