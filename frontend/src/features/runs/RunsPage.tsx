// SPDX-License-Identifier: Apache-2.0
// Runs that programs elsewhere logged by MLflow's client, newest first.
import { plural, t } from "@lingui/core/macro";
import { Button, Checkbox, Group, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import type { Run } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { EmptyState } from "@/components/feedback/EmptyState";
import { CatalogPage } from "@/components/layout/CatalogPage";
import { SearchInput } from "@/components/table/SearchInput";
import { useFilters } from "@/components/table/useFilters";
import { RunStatusBadge } from "@/components/display/RunStatusBadge";
import { compareAddress } from "@/domain/compareAddress";
import { runsQuery } from "@/features/runs/queries";

export function RunsPage() {
  const { filters, filter, turn } = useFilters(["project", "search"]);
  const search = filters.search ?? "";
  const [chosen, setChosen] = useState<readonly string[]>([]);
  return (
    <CatalogPage
      title={t`Runs`}
      subtitle={t`What programs elsewhere logged by MLflow's client. Jobs log to their own page.`}
      actions={
        chosen.length > 0 && (
          <Button component={Link} to={compareAddress("runs", chosen)}>
            {t`Compare ${plural(chosen.length, { one: "# run", other: "# runs" })}`}
          </Button>
        )
      }
      project={filters.project}
      onProject={(project) => filter("project", project)}
      search={
        <SearchInput
          key={search}
          placeholder={t`Name, owner, lr=0.1, loss<0.5`}
          value={search}
          onChange={(text) => filter("search", text)}
        />
      }
      list={useQuery(runsQuery(filters))}
      empty={search === "" && filters.project === undefined ? <NoRuns /> : <NothingFound search={search} />}
      head={[t`Name`, t`Status`, t`Project`, t`Logged by`, t`Started`]}
      minWidth={560}
      row={(run) => (
        <Row
          key={run.id}
          run={run}
          isChosen={chosen.includes(run.id)}
          onChosen={(isChosen) => setChosen(isChosen ? [...chosen, run.id] : chosen.filter((id) => id !== run.id))}
        />
      )}
      onCursor={turn}
    />
  );
}

function NothingFound({ search }: { search: string }) {
  return (
    <EmptyState
      title={t`No runs found`}
      text={
        search === ""
          ? t`Nothing was logged to this project.`
          : t`No run has all of “${search}”. Words are looked for in name, project and owner; parameters and tags as lr=0.1 or optimizer="SGD with momentum", numbers and newest values of metrics as loss<0.5.`
      }
      action={<TextLink to="/runs">{t`Show all runs`}</TextLink>}
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

interface RowProps {
  run: Run;
  isChosen: boolean;
  onChosen: (isChosen: boolean) => void;
}

function Row({ run, isChosen, onChosen }: RowProps) {
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <Group gap="xs" wrap="nowrap">
          <Checkbox
            size="xs"
            aria-label={t`Select ${run.name}`}
            checked={isChosen}
            onChange={(event) => onChosen(event.currentTarget.checked)}
          />
          <TextLink to={`/runs/${run.id}`} fw={500}>
            {run.name}
          </TextLink>
        </Group>
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
