// SPDX-License-Identifier: Apache-2.0
// What differs between the version that is shown and another one, which is chosen here; the address names both.
import { t } from "@lingui/core/macro";
import { List, NativeSelect, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";

import type { DatasetVersion, VersionDifference } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { ColumnDifferences } from "@/features/datasets/differences/ColumnDifferences";
import { FileDifferences } from "@/features/datasets/differences/FileDifferences";
import { allVersionsQuery, versionDifferenceQuery } from "@/features/datasets/queries";
import { bytes, number } from "@/lib/quantities";

interface Props {
  datasetId: string;
  shownId: string;
}

/** Nothing for a dataset of one version. */
export function DifferencesSection({ datasetId, shownId }: Props) {
  const [parameters, setParameters] = useSearchParams();
  const versions = useQuery(allVersionsQuery(datasetId)).data?.results ?? [];
  const shown = versions.find(({ id }) => id === shownId);
  const others = versions.filter(({ id }) => id !== shownId);
  if (!shown || others.length === 0) return null;
  const from = others.find(({ id }) => id === parameters.get("from"));

  function choose(id: string) {
    setParameters(id === "" ? { version: shownId } : { version: shownId, from: id }, { preventScrollReset: true });
  }

  return (
    <Section title={t`Differences`}>
      <NativeSelect
        label={t`What differs in version ${shown.number} from`}
        value={from?.id ?? ""}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[
          { value: "", label: t`Choose a version` },
          ...others.map((version) => ({ value: version.id, label: t`Version ${version.number}` })),
        ]}
        maw={280}
      />
      {from && <Difference from={from} to={shown} />}
    </Section>
  );
}

function Difference({ from, to }: { from: DatasetVersion; to: DatasetVersion }) {
  const heads: [string, string] = [t`Version ${from.number}`, t`Version ${to.number}`];
  return (
    <QueryResult of={useQuery(versionDifferenceQuery(from.id, to.id))} label={t`Loading the differences`}>
      {(found) => (
        <Stack gap="md">
          <Text size="sm">{inOne(found)}</Text>
          {found.facts.length > 0 && (
            <ScrollTable label={t`Counts, sizes and options`} head={["", ...heads]} minWidth={360}>
              {found.facts.map(({ name, before, after }) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row">{FACTS[name] ?? name}</Table.Th>
                  <Table.Td>{shownFact(name, before)}</Table.Td>
                  <Table.Td>{shownFact(name, after)}</Table.Td>
                </Table.Tr>
              ))}
            </ScrollTable>
          )}
          <ColumnDifferences difference={found} heads={heads} />
          <Classes difference={found} heads={heads} />
          <FileDifferences difference={found} />
          {found.notes.length > 0 && (
            <List size="sm" c="dimmed">
              {found.notes.map((note) => (
                <List.Item key={note}>{note}</List.Item>
              ))}
            </List>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}

function inOne(found: VersionDifference): string {
  if (found.is_same_content && found.facts.length === 0 && found.columns.length === 0) return t`Both versions are the same.`;
  if (found.is_same_content) return t`Both have the same file, read in different ways.`;
  return t`The files differ.`;
}

function Classes({ difference, heads }: { difference: VersionDifference; heads: [string, string] }) {
  const { classes, n_classes_left_out: nLeftOut } = difference;
  if (classes.length === 0) return null;
  return (
    <>
      <ScrollTable label={t`Classes that differ`} head={[t`Class`, ...heads]} minWidth={360}>
        {classes.map(({ name, before, after }) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">{name || t`(empty)`}</Table.Th>
            <Table.Td>{before === null ? "–" : number(before)}</Table.Td>
            <Table.Td>{after === null ? "–" : number(after)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      {nLeftOut > 0 && <Text size="sm">{t`and ${number(nLeftOut)} more.`}</Text>}
    </>
  );
}

const FACTS: Record<string, string> = {
  n_rows: t`Rows`,
  n_columns: t`Columns`,
  n_examples: t`Examples`,
  n_files: t`Files in it`,
  n_bytes: t`Size unpacked`,
  n_classes: t`Classes`,
  input_shape: t`Shape of an input`,
  format: t`Format`,
  size_bytes: t`Size`,
  target: t`Target column`,
  vocabulary_size: t`Vocabulary`,
  task: t`Task`,
};

function shownFact(name: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return name === "size_bytes" || name === "n_bytes" ? bytes(value) : number(value);
  if (typeof value === "string") return value || "–";
  return Array.isArray(value) ? value.map(String).join(name === "input_shape" ? " × " : ", ") : JSON.stringify(value);
}
