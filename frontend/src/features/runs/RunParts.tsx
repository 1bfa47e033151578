// SPDX-License-Identifier: Apache-2.0
// The parts of a run's page: parameters, tags, datasets, newest values of metrics, and files to download.
import { t } from "@lingui/core/macro";
import { Anchor, Stack, Table } from "@mantine/core";
import type { CSSProperties } from "react";

import type { RunDetail, RunMetric } from "@/api/types";
import { SectionCard } from "@/components/layout/Section";
import { SearchedTable } from "@/components/table/SearchedTable";
import { ScrollTable } from "@/components/table/ScrollTable";
import { type EntryKind, readRunDatasets, readRunEntries, readRunFiles, runDatasetsKey, runEntriesKey, runFilesKey } from "@/features/runs/queries";
import { bytes, number } from "@/lib/quantities";

const ANYWHERE: CSSProperties = { overflowWrap: "anywhere", whiteSpace: "normal" };
/** Next to long values a name keeps the width of an ordinary one. */
const NAME: CSSProperties = { ...ANYWHERE, minWidth: "24ch" };
const LINES: CSSProperties = { overflowWrap: "anywhere", whiteSpace: "pre-wrap" };
const SCROLLED: CSSProperties = { ...LINES, maxHeight: "9lh", overflowY: "auto" };
/** Of longer values the first lines are seen, the others by scrolling: some are whole texts. */
const LONG = 400;

/** Its parameters or its tags, of which there may be thousands. */
export function Entries({ title, id, kind, n }: { title: string; id: string; kind: EntryKind; n: number }) {
  if (n === 0) return null;
  return (
    <SectionCard title={n > 1 ? `${title} (${number(n)})` : title}>
      <Stack gap="sm">
        <SearchedTable
          name={kind}
          searchedBy={t`Part of a name or value`}
          label={title}
          head={[t`Name`, t`Value`]}
          minWidth={420}
          queryKey={runEntriesKey(id, kind)}
          read={(query) => readRunEntries(id, kind, query)}
          empty={null}
          isSorted
          row={({ key, value }) => (
            <Table.Tr key={key}>
              <Table.Th scope="row" style={NAME}>
                {key}
              </Table.Th>
              <Table.Td>
                <div style={value.length > LONG ? SCROLLED : LINES} {...(value.length > LONG && { tabIndex: 0, role: "group", "aria-label": t`Value of ${key}` })}>
                  {value}
                </div>
              </Table.Td>
            </Table.Tr>
          )}
        />
      </Stack>
    </SectionCard>
  );
}

export function Datasets({ id, n }: { id: string; n: number }) {
  if (n === 0) return null;
  return (
    <SectionCard title={n > 1 ? t`Datasets (${number(n)})` : t`Datasets`}>
      <Stack gap="sm">
        <SearchedTable
          name="dataset"
          searchedBy={t`Part of a dataset's name`}
          label={t`Datasets`}
          head={[t`Name`, t`Digest`]}
          minWidth={420}
          queryKey={runDatasetsKey(id)}
          read={(query) => readRunDatasets(id, query)}
          empty={null}
          isSorted
          row={({ name, digest }) => (
            <Table.Tr key={`${name} ${digest}`}>
              <Table.Th scope="row" style={NAME}>
                {name}
              </Table.Th>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{digest}</Table.Td>
            </Table.Tr>
          )}
        />
      </Stack>
    </SectionCard>
  );
}

export function NewestValues({ metrics }: { metrics: readonly RunMetric[] }) {
  return (
    <ScrollTable label={t`Newest values`} head={[t`Metric`, t`Newest value`, t`Step`, t`Points`]} minWidth={420}>
      {metrics.map(({ key, last_value, last_step, n_points }) => (
        <Table.Tr key={key}>
          <Table.Th scope="row" style={ANYWHERE}>{key}</Table.Th>
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
      <Stack gap="sm">
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
      </Stack>
    </SectionCard>
  );
}
