// SPDX-License-Identifier: Apache-2.0
// A page that lists what the projects own, of one project or of all.
import { t } from "@lingui/core/macro";
import { NativeSelect } from "@mantine/core";
import type { ReactNode } from "react";

import { useProjects } from "@/api/session";
import { PagedTable, type PagedTableProps } from "@/components/table/PagedTable";

import { Page } from "./Page";

interface Props<T> extends Omit<PagedTableProps<T>, "label"> {
  title: string;
  subtitle: string;
  actions: ReactNode;
  /** A project's id; undefined: all. */
  project: string | undefined;
  onProject: (id: string) => void;
}

export function CatalogPage<T>({ title, subtitle, actions, project, onProject, ...table }: Props<T>) {
  const projects = useProjects();
  return (
    <Page title={title} subtitle={subtitle} actions={actions}>
      {projects.length > 1 && (
        <NativeSelect
          aria-label={t`Project`}
          size="xs"
          maw={240}
          value={project ?? ""}
          onChange={(event) => onProject(event.currentTarget.value)}
          data={[{ value: "", label: t`All projects` }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      )}
      <PagedTable label={title} {...table} />
    </Page>
  );
}
