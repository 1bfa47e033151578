// SPDX-License-Identifier: Apache-2.0
// Runs that programs elsewhere logged by MLflow's client, newest first.
import { t } from "@lingui/core/macro";
import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Run } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { EmptyState } from "@/components/feedback/EmptyState";
import { CatalogPage } from "@/components/layout/CatalogPage";
import { useFilters } from "@/components/table/useFilters";
import { RunStatusBadge } from "@/features/runs/RunStatusBadge";
import { runsQuery } from "@/features/runs/queries";

export function RunsPage() {
  const { filters, filter, turn } = useFilters(["project"]);
  return (
    <CatalogPage
      title={t`Runs`}
      subtitle={t`What programs elsewhere logged by MLflow's client. Jobs log to their own page.`}
      actions={null}
      project={filters.project}
      onProject={(project) => filter("project", project)}
      list={useQuery(runsQuery(filters))}
      empty={<NoRuns />}
      head={[t`Name`, t`Status`, t`Project`, t`Logged by`, t`Started`]}
      minWidth={560}
      row={(run) => <Row key={run.id} run={run} />}
      onCursor={turn}
    />
  );
}

function NoRuns() {
  return (
    <EmptyState
      title={t`No runs yet`}
      text={t`Set MLFLOW_TRACKING_URI to ${window.location.origin} and MLFLOW_TRACKING_TOKEN to an API token; code that uses MLflow then logs here.`}
      action={<TextLink to="/tokens">{t`Make an API token`}</TextLink>}
    />
  );
}

function Row({ run }: { run: Run }) {
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <TextLink to={`/runs/${run.id}`} fw={500}>
          {run.name}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <RunStatusBadge status={run.status} />
      </Table.Td>
      <Table.Td>{run.project.name}</Table.Td>
      <Table.Td>{run.created_by.username}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={run.started_at} />
      </Table.Td>
    </Table.Tr>
  );
}
