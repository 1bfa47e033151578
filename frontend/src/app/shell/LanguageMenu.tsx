// SPDX-License-Identifier: Apache-2.0
// The languages of the dashboard; the choice stays in this browser.
import { t } from "@lingui/core/macro";
import { ActionIcon, Menu } from "@mantine/core";

import { Icon } from "@/components/display/Icon";
import { chooseLocale, currentLocale, localeNames } from "@/locales/locale";

export function LanguageMenu() {
  return (
    <Menu position="top-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t`Language`}>
          <Icon name="globe" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {localeNames().map(([locale, name]) => (
          <Menu.Item
            key={locale}
            lang={locale}
            role="menuitemradio"
            aria-checked={locale === currentLocale()}
            fw={locale === currentLocale() ? 600 : undefined}
            onClick={() => chooseLocale(locale)}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
