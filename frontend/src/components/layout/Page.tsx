// SPDX-License-Identifier: Apache-2.0
// The frame of every page: its title (also the tab's), its actions, its content.
import { t } from "@lingui/core/macro";
import { Box, Container, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

interface Props {
  title: string;
  /** Of the browser's tab, where it says more than the title. */
  documentTitle?: string;
  /** Under the title: one line of context. */
  subtitle?: ReactNode;
  /** Above the title: where one came from. */
  back?: ReactNode;
  actions?: ReactNode;
  /** Whether it uses the whole width of the screen, as tables and charts do. */
  isWide?: boolean;
  children: ReactNode;
}

export function Page({ title, documentTitle = title, subtitle, back, actions, isWide = false, children }: Props) {
  useEffect(() => {
    document.title = t`${documentTitle} · MLHub`;
  }, [documentTitle]);

  return (
    <Container size={isWide ? "100%" : 1280} px={{ base: "md", md: "xl" }} py="lg">
      <Stack gap="lg">
        <Group component="header" justify="space-between" align="flex-start" gap="sm">
          <Box miw={0}>
            {back}
            <Title order={1} size="h2" dir="auto" style={{ overflowWrap: "anywhere" }}>
              {title}
            </Title>
            {subtitle && (
              <Text component="div" c="dimmed" size="sm" mt={2}>
                {subtitle}
              </Text>
            )}
          </Box>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {children}
      </Stack>
    </Container>
  );
}
