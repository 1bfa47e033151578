// SPDX-License-Identifier: Apache-2.0
// A page that lists what the projects own, of one project or of all.
import { t } from "@lingui/core/macro";
import { Group, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense } from "react";

import { choicesQuery, projectChoices } from "@/api/choices";
import { PagedTable, type PagedTableProps } from "@/components/table/PagedTable";

import { lazyComponent } from "@/lib/chunk";

import { Page } from "./Page";

/** Comes after the table: few lists have a project that is chosen. */
const ProjectFilter = lazyComponent(async () => (await import("@/components/form/choice/ProjectFilter")).ProjectFilter);

interface Props<T> extends Omit<PagedTableProps<T>, "label"> {
  title: string;
  subtitle: string;
  actions: ReactNode;
  /** Above everything else of the page. */
  notice?: ReactNode;
  /** A project's id; undefined: all. */
  project: string | undefined;
  onProject: (id: string) => void;
  /** Before the choice of a project. */
  search?: ReactNode;
}

export function CatalogPage<T>({ title, subtitle, actions, notice, project, onProject, search, ...table }: Props<T>) {
  const offered = useQuery(choicesQuery(projectChoices())).data?.results ?? [];
  const hasChoice = offered.length > 1 || project !== undefined;
  return (
    <Page title={title} subtitle={subtitle} actions={actions}>
      {notice}
      {(search !== undefined || hasChoice) && (
        <Group gap="xs">
          {search}
          {hasChoice && (
            <Suspense fallback={<TextInput size="xs" maw={240} aria-label={t`Project`} disabled />}>
              <ProjectFilter maw={240} value={project ?? ""} onChange={onProject} />
            </Suspense>
          )}
        </Group>
      )}
      <PagedTable label={title} {...table} />
    </Page>
  );
}
