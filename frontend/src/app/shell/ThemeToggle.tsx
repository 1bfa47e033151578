// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system says.
import { t } from "@lingui/core/macro";
import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";

import { Icon } from "@/components/display/Icon";

const SCHEMES = [
  { value: "light", label: t`Light` },
  { value: "dark", label: t`Dark` },
  { value: "auto", label: t`As the system` },
] as const;

export function ThemeToggle() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="top-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t`Theme`}>
          <Icon name="sun" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map(({ value, label }) => (
          <Menu.Item
            key={value}
            role="menuitemradio"
            aria-checked={colorScheme === value}
            fw={colorScheme === value ? 600 : undefined}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
