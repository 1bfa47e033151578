// SPDX-License-Identifier: Apache-2.0
// The versions of a dataset or model, to choose the one to show: its number, then the caller's cells.
import { t } from "@lingui/core/macro";
import { Table } from "@mantine/core";
import type { ReactNode } from "react";

import { TextLink } from "@/components/display/TextLink";

import { PagedTable, type PagedTableProps } from "./PagedTable";

interface Props<T> extends Omit<PagedTableProps<T>, "row"> {
  shownId: string | undefined;
  /** Under all of `head` but the first. */
  cells: (version: T) => ReactNode[];
}

export function VersionsTable<T extends { id: string; number: number }>({ shownId, cells, ...table }: Props<T>) {
  return (
    <PagedTable
      {...table}
      row={(version) => {
        const isShown = version.id === shownId;
        return (
          <Table.Tr key={version.id} bg={isShown ? "var(--mantine-color-default-hover)" : undefined}>
            <Table.Td style={{ whiteSpace: "nowrap" }}>
              <TextLink to={`?version=${version.id}`} aria-current={isShown ? "true" : undefined}>
                {t`Version ${version.number}`}
              </TextLink>
            </Table.Td>
            {cells(version).map((cell, index) => (
              <Table.Td key={index}>{cell}</Table.Td>
            ))}
          </Table.Tr>
        );
      }}
    />
  );
}
