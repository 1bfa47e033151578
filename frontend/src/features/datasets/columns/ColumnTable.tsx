// SPDX-License-Identifier: Apache-2.0
// One row for each column of a dataset: its values, what is missing, and how it is used.
import { t } from "@lingui/core/macro";
import { Badge, Button, NativeSelect, Table, Text } from "@mantine/core";
import { useState } from "react";

import { ScrollTable } from "@/components/table/ScrollTable";
import { Distribution } from "@/features/datasets/columns/Distribution";
import { AUTOMATIC, type ChoiceValues, MISSING, USES } from "@/features/datasets/columns/choice";
import { numberFormats } from "@/features/datasets/columns/numberFormats";
import type { ColumnStatistics, TableStatistics } from "@/features/datasets/columns/statistics";
import { number, percent } from "@/lib/quantities";

const SHOWN_FIRST = 60;
const TYPES: Record<string, string> = {
  number: t`number`,
  category: t`category`,
  date: t`date`,
  identifier: t`identifier`,
  text: t`text`,
  constant: t`constant`,
  empty: t`empty`,
  other: t`not plain`,
};

interface Props {
  statistics: TableStatistics;
  values: ChoiceValues;
  /** undefined: they are only shown. */
  onChange: ((values: ChoiceValues) => void) | undefined;
}

export function ColumnTable({ statistics: { columns, nRows }, values, onChange }: Props) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? columns : columns.slice(0, SHOWN_FIRST);
  return (
    <>
      <ScrollTable label={t`Columns`} head={[t`Column`, t`Values`, t`Missing`, t`Different`, t`Use`, t`What is done`]} minWidth={980}>
        {shown.map((column) => (
          <Table.Tr key={column.name}>
            <Table.Td maw={200} style={{ overflowWrap: "anywhere" }}>
              <Text size="sm" fw={500}>
                {column.name || t`(no name)`}
              </Text>
              <Text size="xs" c="dimmed">
                {TYPES[column.type] ?? column.type}
              </Text>
            </Table.Td>
            <Table.Td>
              <Distribution column={column} nRows={nRows} />
            </Table.Td>
            <Table.Td>{column.nMissing === 0 ? "–" : percent(column.nMissing / Math.max(1, nRows))}</Table.Td>
            <Table.Td>{column.nDistinct === undefined ? t`many` : number(column.nDistinct)}</Table.Td>
            <Table.Td>
              <Use column={column} values={values} onChange={onChange} />
            </Table.Td>
            <Table.Td maw={280}>
              <Text size="sm">{treatmentText(column, values)}</Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      {!isWhole && columns.length > SHOWN_FIRST && (
        <Button variant="default" size="xs" onClick={() => setWhole(true)} style={{ alignSelf: "start" }}>
          {t`Show all ${number(columns.length)} columns`}
        </Button>
      )}
    </>
  );
}

function Use({ column, values, onChange }: Omit<Props, "statistics"> & { column: ColumnStatistics }) {
  const { name } = column;
  const isTarget = name === values.target;
  if (onChange === undefined) {
    return column.role === "" ? "–" : <Badge color={column.role === "ignored" ? "gray" : "teal"}>{ROLES[column.role] ?? column.role}</Badge>;
  }
  const found = column.usedAs || column.type;
  const automatic = isTarget ? t`Target` : (TYPES[found] ?? found);
  return (
    <>
      <NativeSelect
        aria-label={t`Use of ${name}`}
        size="xs"
        miw={150}
        value={values.uses[name] ?? AUTOMATIC}
        onChange={(event) => onChange({ ...values, uses: { ...values.uses, [name]: event.currentTarget.value } })}
        data={[{ value: AUTOMATIC, label: t`Automatic: ${automatic}` }, ...USES.filter(({ value }) => !isTarget || ["number", "category"].includes(value))]}
      />
      {column.nMissing > 0 && !isTarget && (
        <NativeSelect
          aria-label={t`Missing values of ${name}`}
          size="xs"
          mt={4}
          value={values.missing[name] ?? AUTOMATIC}
          onChange={(event) => onChange({ ...values, missing: { ...values.missing, [name]: event.currentTarget.value } })}
          data={MISSING.map(({ value, label }) => ({ value, label: t`Missing: ${label}` }))}
        />
      )}
      {column.readings && (
        <NativeSelect
          aria-label={t`Number format of ${name}`}
          size="xs"
          mt={4}
          value={values.numbers[name] ?? AUTOMATIC}
          onChange={(event) => onChange({ ...values, numbers: { ...values.numbers, [name]: event.currentTarget.value } })}
          data={numberFormats(column, column.readings)}
        />
      )}
    </>
  );
}

/** What was done so far, but for the column that has just been chosen as the target: it is no input any more. */
function treatmentText({ name, role, treatment }: ColumnStatistics, { target }: ChoiceValues): string {
  if (name === target && role !== "target") return t`What is to be predicted`;
  return treatment || "–";
}

const ROLES: Record<string, string> = { target: t`Target`, split: t`Train or test part`, feature: t`Learned from`, ignored: t`Left out` };
