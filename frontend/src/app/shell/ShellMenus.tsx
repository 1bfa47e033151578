// SPDX-License-Identifier: Apache-2.0
// The menus at the foot of the navigation, with the code that places them.
import { Group } from "@mantine/core";

import { ThemeToggle } from "@/app/shell/ThemeToggle";
import { UserMenu } from "@/app/shell/UserMenu";

export function ShellMenus() {
  return (
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <UserMenu />
      <ThemeToggle />
    </Group>
  );
}
