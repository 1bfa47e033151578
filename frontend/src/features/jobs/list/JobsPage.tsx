// SPDX-License-Identifier: Apache-2.0
// All jobs that the user may see, as a table of any length; search, filters, order and columns live in the address.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, Text } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useCallback, useMemo, useState } from "react";
import { Link, Navigate } from "react-router";

import { EmptyState } from "@/components/feedback/EmptyState";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Page } from "@/components/layout/Page";
import { useFilters } from "@/components/table/useFilters";
import { NewNotebookButton } from "@/features/jobs/notebook/NewNotebookButton";

import { USUAL_COLUMNS, columnsOf } from "./columns";
import { FilterBar } from "./FilterBar";
import { JobTable } from "./JobTable";
import type { Choice } from "./useRowKeys";
import { type JobTableRows, type TableView, useJobTable } from "./tableRows";
import { SelectionBar } from "./selection/SelectionBar";
import { useChosenJob } from "./workbench/useChosenJob";
import { Workbench } from "./workbench/Workbench";

const NAMES = ["search", "state", "owner", "project", "tag", "sort", "columns"] as const;

export function JobsPage() {
  const { filters, filter } = useFilters(NAMES);
  const view: TableView = Object.fromEntries(Object.entries(filters).filter(([name]) => name !== "columns" && name !== "cursor"));
  const [saved, setSaved] = useLocalStorage({ key: "mlhub-job-columns", defaultValue: USUAL_COLUMNS.join(",") });
  const shownColumns = filters.columns ?? saved;
  const columns = useMemo(() => columnsOf(shownColumns), [shownColumns]);
  const table = useJobTable(view, columns);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { fetchNextPage, isFetchingNextPage } = table.query;
  const onNearEnd = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);

  const select = useCallback((ids: readonly string[], isSelected: boolean) => {
    setSelected((known) => {
      const found = new Set(known);
      for (const id of ids) {
        if (isSelected) found.add(id);
        else found.delete(id);
      }
      return found;
    });
  }, []);

  const { hasRoom, chosen, choose, pageInstead } = useChosenJob();
  const [nEntered, setEntered] = useState(0);
  if (pageInstead !== null) return <Navigate to={pageInstead} replace />;
  const choice: Choice | null = hasRoom
    ? {
        chosen,
        onChoose: (id, isEntered) => {
          choose(id);
          if (isEntered) setEntered((n) => n + 1);
        },
      }
    : null;

  return (
    <Page
      title={t`Jobs`}
      isWide
      actions={
        <>
          <NewNotebookButton />
          <Button component={Link} to="/jobs/new">
            {t`New job`}
          </Button>
        </>
      }
    >
      <FilterBar
        view={view}
        onChange={filter}
        columns={columns}
        onColumns={(chosen) => {
          setSaved(chosen.join(","));
          filter("columns", chosen.join(","));
        }}
      />
      <Workbench chosen={chosen} nEntered={nEntered} onClose={() => choose(undefined)}>
        <ProblemAlert error={table.query.error} onRetry={() => void table.query.refetch()} />
        {table.query.isPending && <Loading />}
        {table.query.data !== undefined && table.rows.length === 0 && (
          <NoJobs isFiltered={Object.keys(view).some((name) => name !== "sort")} />
        )}
        {table.rows.length > 0 && (
          <>
            <Shown table={table} />
            <JobTable
              jobs={table.rows}
              columns={columns}
              sort={view.sort}
              onSort={(sort) => filter("sort", sort === "-created" ? "" : sort)}
              selected={selected}
              onSelect={select}
              hasMore={table.query.hasNextPage}
              onNearEnd={onNearEnd}
              onRefresh={table.refresh}
              choice={choice}
            />
          </>
        )}
      </Workbench>
      <SelectionBar
        jobs={table.rows.filter(({ id }) => selected.has(id))}
        onClear={() => setSelected(new Set())}
        onDone={(ids) => void table.refresh(ids)}
      />
    </Page>
  );
}

function Shown({ table: { rows, nNew, reload, query } }: { table: JobTableRows }) {
  return (
    <Group gap="xs">
      <Text size="xs" c="dimmed" role="status">
        {query.hasNextPage ? t`The first ${plural(rows.length, { one: "# job", other: "# jobs" })}; more come as you scroll.` : plural(rows.length, { one: "# job", other: "# jobs" })}
      </Text>
      {nNew > 0 && (
        <Button size="compact-xs" variant="light" onClick={reload}>
          {t`${plural(nNew, { one: "# more job", other: "# more jobs" })}: show`}
        </Button>
      )}
    </Group>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState
        title={t`No jobs match`}
        text={t`No job that you may see is as the search and the filters say.`}
        action={
          <Button variant="default" component={Link} to="/jobs">
            {t`Show all jobs`}
          </Button>
        }
      />
    );
  }
  return (
    <EmptyState
      title={t`No jobs yet`}
      text={t`First upload a dataset. Then start a job with it and one of the built-in models, or upload your own.`}
      action={
        <Group justify="center">
          <Button component={Link} to="/datasets">
            {t`Upload a dataset`}
          </Button>
          <Button variant="default" component={Link} to="/jobs/new">
            {t`New job`}
          </Button>
        </Group>
      }
    />
  );
}
