// SPDX-License-Identifier: Apache-2.0
// Who is signed in; the ways out, to the API's documentation, and to the administration.
import { t } from "@lingui/core/macro";
import { Button, Menu, Text } from "@mantine/core";
import { Link } from "react-router";

import { isStaff, useMe } from "@/api/session";
import { Icon } from "@/components/display/Icon";

export function UserMenu() {
  const me = useMe();

  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          leftSection={<Icon name="user" />}
          justify="flex-start"
          flex={1}
          miw={0}
          aria-label={t`Account of ${me.username}`}
        >
          <Text size="sm" truncate dir="auto">
            {me.username}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {me.memberships.map(({ organisation, role }) => (
          <Menu.Label key={organisation.id}>
            {organisation.name} · {role}
          </Menu.Label>
        ))}
        <Menu.Item component={Link} to="/account">
          {t`Account`}
        </Menu.Item>
        <Menu.Item component={Link} to="/tokens">
          {t`API tokens`}
        </Menu.Item>
        <Menu.Item component="a" href="/api/v1/docs">
          {t`API documentation`}
        </Menu.Item>
        {isStaff(me) && (
          <Menu.Item component="a" href="/admin/">
            {t`Administration`}
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item component={Link} to="/sign-out" state={{ isAsked: true }}>
          {t`Sign out`}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
