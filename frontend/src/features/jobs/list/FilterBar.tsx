// SPDX-License-Identifier: Apache-2.0
// The search and the filters of the list of jobs, its columns, and the views that were saved in this browser.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";

import { SearchInput } from "@/components/table/SearchInput";
import { JOB_STATES } from "@/domain/states/jobState";
import { lazyComponent } from "@/lib/chunk";

import type { ColumnName } from "./columns";
import type { TableView } from "./tableRows";
import { tagsQuery } from "./tags";

/** What opens a list or a menu comes after the table. */
const NameFilter = lazyComponent(async () => (await import("./NameFilter")).NameFilter);
const PersonFilter = lazyComponent(async () => (await import("@/components/form/choice/PersonFilter")).PersonFilter);
const ProjectFilter = lazyComponent(async () => (await import("@/components/form/choice/ProjectFilter")).ProjectFilter);
const ColumnMenu = lazyComponent(async () => (await import("./ColumnMenu")).ColumnMenu);
const SavedViews = lazyComponent(async () => (await import("./SavedViews")).SavedViews);

const ORDERS = { "": t`Newest first`, created: t`Oldest first`, name: t`Name`, state: t`State`, finish: t`Finish`, "-gpu_hours": t`GPU-hours` };

interface Props {
  view: TableView;
  onChange: (name: keyof TableView, value: string) => void;
  columns: readonly ColumnName[];
  onColumns: (columns: readonly ColumnName[]) => void;
}

export function FilterBar({ view, onChange, columns, onColumns }: Props) {
  const tags = useQuery(tagsQuery).data ?? [];
  return (
    <Group gap="xs" align="center">
      <SearchInput
        key={view.search ?? ""}
        placeholder={t`Name, id, owner, model, dataset`}
        value={view.search ?? ""}
        onChange={(text) => onChange("search", text)}
      />
      <NativeSelect
        size="xs"
        aria-label={t`State`}
        w={130}
        value={view.state ?? ""}
        onChange={(event) => onChange("state", event.currentTarget.value)}
        data={[
          { value: "", label: t`All states` },
          ...Object.entries(JOB_STATES).map(([value, { label }]) => ({ value, label })),
        ]}
      />
      <Suspense fallback={<NameFiltersLoading />}>
        <ProjectFilter w={190} value={view.project ?? ""} onChange={(project) => onChange("project", project)} />
        <PersonFilter
          aria-label={t`Owner`}
          placeholder={t`Any owner`}
          w={140}
          value={view.owner ?? ""}
          onChange={(username) => onChange("owner", username)}
        />
        <NameFilter label={t`Tag`} value={view.tag ?? ""} options={tags.map(({ tag }) => tag)} onChange={(tag) => onChange("tag", tag)} />
      </Suspense>
      <NativeSelect
        size="xs"
        aria-label={t`Order`}
        hiddenFrom="sm"
        value={view.sort ?? ""}
        onChange={(event) => onChange("sort", event.currentTarget.value)}
        data={Object.entries(ORDERS).map(([value, label]) => ({ value, label }))}
      />
      <Suspense fallback={<MenusLoading />}>
        <ColumnMenu columns={columns} onChange={onColumns} />
        <SavedViews />
      </Suspense>
    </Group>
  );
}

/** As large as what comes, so that nothing moves. */
function NameFiltersLoading() {
  return (
    <>
      <TextInput size="xs" w={190} aria-label={t`Project`} disabled />
      <TextInput size="xs" w={140} aria-label={t`Owner`} disabled />
      <TextInput size="xs" w={120} aria-label={t`Tag`} disabled />
    </>
  );
}

function MenusLoading() {
  return (
    <>
      <Button size="xs" variant="default" visibleFrom="sm" disabled>
        {t`Columns`}
      </Button>
      <Button size="xs" variant="default" disabled>
        {t`Views`}
      </Button>
    </>
  );
}
