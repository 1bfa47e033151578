// SPDX-License-Identifier: Apache-2.0
// The way back to the list a page belongs to.
import { Anchor, Group } from "@mantine/core";
import { Link } from "react-router";

import { Icon } from "@/components/display/Icon";

export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm" mb={4} display="inline-block">
      <Group component="span" gap={4}>
        <Icon name="back" size={14} />
        {children}
      </Group>
    </Anchor>
  );
}
