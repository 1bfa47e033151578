// SPDX-License-Identifier: Apache-2.0
// The parts of a run's page: pairs of names and values, newest values of metrics, and files to download.
import { t } from "@lingui/core/macro";
import { Anchor, Table } from "@mantine/core";

import type { RunDetail, RunMetric } from "@/api/types";
import { SectionCard } from "@/components/layout/Section";
import { SearchedTable } from "@/components/table/SearchedTable";
import { ScrollTable } from "@/components/table/ScrollTable";
import { readRunFiles, runFilesKey } from "@/features/runs/queries";
import { bytes, number } from "@/lib/quantities";

export function Pairs({ title, pairs }: { title: string; pairs: Record<string, string> }) {
  const rows = Object.entries(pairs);
  if (rows.length === 0) return null;
  return (
    <SectionCard title={title}>
      <ScrollTable label={title} head={[t`Name`, t`Value`]} minWidth={420}>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>{name}</Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </SectionCard>
  );
}

export function NewestValues({ metrics }: { metrics: readonly RunMetric[] }) {
  return (
    <ScrollTable label={t`Newest values`} head={[t`Metric`, t`Newest value`, t`Step`, t`Points`]} minWidth={420}>
      {metrics.map(({ key, last_value, last_step, n_points }) => (
        <Table.Tr key={key}>
          <Table.Th scope="row" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>{key}</Table.Th>
          <Table.Td>{last_value === null ? t`not a number` : number(last_value)}</Table.Td>
          <Table.Td>{number(last_step)}</Table.Td>
          <Table.Td>{number(n_points)}</Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

export function Files({ run }: { run: RunDetail }) {
  if (run.n_artifacts === 0) return null;
  const address = `/api/v1/runs/${run.id}/artifacts/`;
  return (
    <SectionCard title={t`Artifacts`}>
      <SearchedTable
        name="artifact"
        searchedBy={t`Part of a path`}
        label={t`Artifacts`}
        head={[t`Artifact`, t`Size`]}
        minWidth={280}
        queryKey={runFilesKey(run.id)}
        read={(query) => readRunFiles(run.id, query)}
        empty={null}
        isSorted
        row={({ path, size_bytes }) => (
          <Table.Tr key={path}>
            <Table.Td style={{ overflowWrap: "anywhere" }}>
              <Anchor href={address + path.split("/").map(encodeURIComponent).join("/")} download size="sm">
                {path}
              </Anchor>
            </Table.Td>
            <Table.Td>{bytes(size_bytes)}</Table.Td>
          </Table.Tr>
        )}
      />
    </SectionCard>
  );
}
