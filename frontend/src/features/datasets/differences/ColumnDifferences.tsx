// SPDX-License-Identifier: Apache-2.0
// Columns of a table that came, went or changed: their type, missing values and distribution in both versions.
import { t } from "@lingui/core/macro";
import { Badge, Stack, Table, Text } from "@mantine/core";

import type { VersionDifference } from "@/api/types";
import { ScrollTable } from "@/components/table/ScrollTable";
import { Distribution } from "@/features/datasets/columns/Distribution";
import { asTableStatistics, type ColumnStatistics } from "@/features/datasets/columns/statistics";
import { CHANGES } from "@/features/datasets/differences/changes";
import { number, percent } from "@/lib/quantities";

interface Props {
  difference: VersionDifference;
  heads: [string, string];
}

export function ColumnDifferences({ difference, heads }: Props) {
  const { columns, n_columns_left_out: nLeftOut } = difference;
  if (columns.length === 0) return null;
  const [nBefore, nAfter] = rowsOf(difference);
  return (
    <>
      <ScrollTable label={t`Columns that differ`} head={[t`Column`, "", ...heads]} minWidth={640}>
        {columns.map(({ name, change, before, after }) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" maw={200} style={{ overflowWrap: "anywhere" }}>
              {name || t`(no name)`}
            </Table.Th>
            <Table.Td>
              <Badge color={CHANGES[change].color}>{CHANGES[change].label}</Badge>
            </Table.Td>
            <Table.Td>
              <Side column={columnOf(before)} nRows={nBefore} />
            </Table.Td>
            <Table.Td>
              <Side column={columnOf(after)} nRows={nAfter} />
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      {nLeftOut > 0 && <Text size="sm">{t`and ${number(nLeftOut)} more.`}</Text>}
    </>
  );
}

function Side({ column, nRows }: { column: ColumnStatistics | undefined; nRows: number | undefined }) {
  if (!column) return "–";
  const missing = nRows === undefined ? number(column.nMissing) : percent(column.nMissing / Math.max(1, nRows));
  return (
    <Stack gap={2}>
      <Text size="xs">
        {column.type}
        {column.nMissing > 0 && ` · ${t`${missing} missing`}`}
      </Text>
      <Distribution column={column} nRows={nRows ?? 1} />
    </Stack>
  );
}

function columnOf(stored: unknown): ColumnStatistics | undefined {
  return stored === null ? undefined : asTableStatistics({ kind: "table", columns: [stored] })?.columns[0];
}

/** undefined where both have as many: they are no difference. */
function rowsOf({ facts }: VersionDifference): [number | undefined, number | undefined] {
  const rows = facts.find(({ name }) => name === "n_rows");
  return [asNumber(rows?.before), asNumber(rows?.after)];
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
