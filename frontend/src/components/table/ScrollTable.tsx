// SPDX-License-Identifier: Apache-2.0
// A table that, where there is no room, scrolls inside its own frame (also with the keyboard), never the page.
import { t } from "@lingui/core/macro";
import { Paper, Table } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  label: string;
  head: ReactNode[];
  minWidth?: number;
  children: ReactNode;
}

export function ScrollTable({ label, head, minWidth = 640, children }: Props) {
  return (
    <Paper withBorder style={{ overflowX: "auto" }} tabIndex={0} role="region" aria-label={t`${label}, table`}>
      <Table miw={minWidth} aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {head.map((title, index) => (
              <Table.Th key={index} fz="xs" c="dimmed" fw={600} style={{ whiteSpace: "nowrap" }}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Paper>
  );
}
