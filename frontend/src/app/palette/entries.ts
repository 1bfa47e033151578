// SPDX-License-Identifier: Apache-2.0
// What the command palette finds: pages, commands, and jobs, data and models by name.
import { t } from "@lingui/core/macro";
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Me } from "@/api/types";
import { GROUPS, isFor } from "@/app/shell/places";
import type { IconName } from "@/components/display/Icon";
import { JOB_STATES } from "@/domain/states/jobState";

export interface Entry {
  id: string;
  group: string;
  label: string;
  /** Next to the label, dimmed. */
  detail: string;
  icon: IconName;
  /** An address, or what is done. */
  to?: string;
  run?: () => void;
}

const MOST_JOBS = 8;
const MOST_NAMED = 200; // datasets and models have no search of their own: the newest are looked through here
const MOST_SHOWN = 6; // of each of them

export function pagesOf(me: Me): Entry[] {
  const places = GROUPS.flatMap(([heading, group]) => group.filter((place) => isFor(me, place)).map((place) => ({ heading, ...place })));
  const more = [
    { heading: t`Account`, to: "/account", label: t`Account`, icon: "account" as const },
    { heading: t`Account`, to: "/tokens", label: t`API tokens`, icon: "token" as const },
  ];
  return [...places, ...more].map(({ to, label, icon, heading }) => ({ id: to, group: t`Pages`, label, detail: heading, icon, to }));
}

export function commandsOf(setScheme: (scheme: "light" | "dark" | "auto") => void, onKeys: () => void): Entry[] {
  const group = t`Commands`;
  const open = (to: string, label: string, icon: IconName): Entry => ({ id: `run ${to}`, group, label, detail: "", icon, to });
  const run = (id: string, label: string, icon: IconName, done: () => void): Entry => ({ id, group, label, detail: "", icon, run: done });
  return [
    open("/jobs/new", t`New job`, "plus"),
    open("/studies/new", t`New study`, "plus"),
    open("/datasets", t`Upload a dataset`, "upload"),
    run("dark", t`Dark theme`, "sun", () => setScheme("dark")),
    run("light", t`Light theme`, "sun", () => setScheme("light")),
    run("auto", t`Theme of the system`, "sun", () => setScheme("auto")),
    run("keys", t`List of keys`, "file", onKeys),
  ];
}

export const jobsFoundQuery = (search: string) =>
  queryOptions({
    queryKey: ["jobs", "palette", search],
    queryFn: async (): Promise<Entry[]> => {
      const query = { search, fields: "id,name,state,project", limit: MOST_JOBS };
      const { results } = await unwrap(api.GET("/api/v1/jobs", { params: { query } }));
      return results.map(({ id, name, state, project }) => ({
        id,
        group: t`Jobs`,
        label: name,
        detail: `${JOB_STATES[state].label} · ${project.name}`,
        icon: "jobs",
        to: `/jobs/${id}`,
      }));
    },
    staleTime: 10_000,
  });

export const namedQuery = queryOptions({
  queryKey: ["palette", "named"],
  queryFn: async (): Promise<Entry[]> => {
    const params = { query: { limit: MOST_NAMED } };
    const [datasets, models] = await Promise.all([
      unwrap(api.GET("/api/v1/datasets", { params })),
      unwrap(api.GET("/api/v1/models", { params })),
    ]);
    return [
      ...datasets.results.map(({ id, name, project }): Entry => ({ id, group: t`Datasets`, label: name, detail: project.name, icon: "dataset", to: `/datasets/${id}` })),
      ...models.results.map(({ id, name, project }): Entry => ({ id, group: t`Models`, label: name, detail: project?.name ?? t`Built-in`, icon: "model", to: `/models/${id}` })),
    ];
  },
  staleTime: 60_000,
});

/** Those in which every word of the text occurs; of each group only the first ones. */
export function matching(entries: readonly Entry[], text: string, most = MOST_SHOWN): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const counts = new Map<string, number>();
  return entries.filter(({ label, detail, group }) => {
    const within = `${label} ${detail}`.toLowerCase();
    const n = counts.get(group) ?? 0;
    if (n >= most || !words.every((word) => within.includes(word))) return false;
    counts.set(group, n + 1);
    return true;
  });
}
