// SPDX-License-Identifier: Apache-2.0
// Why one can or cannot do a thing: the role that it needs, and whom to ask for it.
import { t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";

import type { Permission } from "@/api/types";
import { ScrollTable } from "@/components/table/ScrollTable";
import { actionText } from "@/features/roles/texts";

export function PermissionsTable({ permissions }: { permissions: Permission[] }) {
  return (
    <ScrollTable label={t`What you may do here`} head={[t`Action`, t`Allowed`, t`Needs`]} minWidth={560}>
      {permissions.map(({ action, is_allowed, needed_role, place, remedy }) => (
        <Table.Tr key={action}>
          <Table.Td>{actionText(action)}</Table.Td>
          <Table.Td>{is_allowed ? t`yes` : t`no`}</Table.Td>
          <Table.Td>
            {needed_role === null ? t`an administrator of MLHub` : t`${needed_role} in ${place}`}
            {remedy && (
              <Text size="sm" c="dimmed">
                {remedy}
              </Text>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
