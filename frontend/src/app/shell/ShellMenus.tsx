// SPDX-License-Identifier: Apache-2.0
// The menus at the foot of the navigation, with the code that places them.
import { Group } from "@mantine/core";

import { LanguageMenu } from "@/app/shell/LanguageMenu";
import { ThemeToggle } from "@/app/shell/ThemeToggle";
import { UserMenu } from "@/app/shell/UserMenu";

export function ShellMenus({ isFolded }: { isFolded: boolean }) {
  return (
    <Group justify="space-between" wrap={isFolded ? "wrap" : "nowrap"} gap={isFolded ? 0 : "xs"}>
      <UserMenu />
      <Group gap={0} wrap="nowrap">
        <LanguageMenu />
        <ThemeToggle />
      </Group>
    </Group>
  );
}
