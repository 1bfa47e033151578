// SPDX-License-Identifier: Apache-2.0
// The rows of the table of jobs: read page by page as one scrolls, and one by one when the stream brings news of them.
import { type InfiniteData, infiniteQueryOptions, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, commaLists, unwrap } from "@/api/client";
import { useJobChanges } from "@/api/live/jobChanges";
import { whenRead } from "@/api/live/underWay";
import type { Job, JobState, Page } from "@/api/types";
import { cursorOf, everyPage, pageAt } from "@/lib/cursor";

const PAGE_SIZE = 100;
const MAX_IDS = 100; // of one request
const KEPT_MS = 30_000;

/** What the table shows of a job: a third of what there is. */
const ROW_FIELDS = [
  "id", "kind", "name", "project", "created_by", "dataset_version", "model_version", "state", "intent", "explanations",
  "pause_reason", "failure", "progress", "mode", "min_workers", "max_workers", "priority", "target_metric", "result_metrics",
  "current_attempt", "submitted_at", "finished_at", "waited_s", "trained_s", "predicted_finish_at", "tags", "gpu_hours",
] as const satisfies readonly (keyof Job)[];

/** What takes the API queries of its own: asked for while a column shows it. */
const ON_REQUEST = ["slowdown", "network"] as const satisfies readonly (keyof Job)[];

export type JobRow = Pick<Job, (typeof ROW_FIELDS)[number] | (typeof ON_REQUEST)[number]>;

/** What the address says of the table: each part is "" or absent where it says nothing. */
export interface TableView {
  search?: string;
  state?: string;
  owner?: string;
  project?: string;
  tag?: string;
  sort?: string;
}

/** The members that rows have: those of every table, and what its columns show beyond. */
type Members = readonly (keyof JobRow)[];

function membersOf(columns: readonly string[]): Members {
  return [...ROW_FIELDS, ...ON_REQUEST.filter((name) => columns.includes(name))];
}

type Rows = InfiniteData<Page<JobRow>, string | undefined>;

/** The address may hold any word for a state or an order; the API names those there are. */
function asked({ state, sort, ...filters }: TableView, members: Members) {
  return {
    ...filters,
    ...(state ? { state: [state as JobState] } : {}),
    ...(sort ? { sort: sort as "name" } : {}),
    fields: members.join(","),
  };
}

const tableQuery = (view: TableView, members: Members) =>
  infiniteQueryOptions({
    queryKey: ["job-table", view, members],
    queryFn: async ({ pageParam }): Promise<Page<JobRow>> => {
      const query = { ...asked(view, members), ...pageAt(pageParam), limit: PAGE_SIZE };
      return unwrap(api.GET("/api/v1/jobs", { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => cursorOf(last.next),
    placeholderData: (previous) => previous,
    refetchOnWindowFocus: false,
    staleTime: KEPT_MS,
  });

/** columns: names of those that the table shows. */
export function useJobTable(view: TableView, columns: readonly string[]) {
  const client = useQueryClient();
  const members = membersOf(columns);
  const options = tableQuery(view, members);
  const query = useInfiniteQuery(options);
  const key = JSON.stringify(view);
  const [news, setNews] = useState({ key, ids: [] as string[] });

  async function refresh(ids: readonly string[]) {
    const part = ids.slice(0, MAX_IDS);
    if (part.length === 0) return;
    const results = await everyPage<JobRow>((page) => {
      const params = { query: { ...asked(view, members), id: [...part], ...page } };
      return unwrap(api.GET("/api/v1/jobs", { params, querySerializer: commaLists }));
    });
    const known = client.getQueryData<Rows>(options.queryKey);
    if (known === undefined) return;
    const { rows, unplaced } = patched(known, new Set(part), results, !view.sort);
    client.setQueryData<Rows>(options.queryKey, rows);
    if (unplaced.length > 0) {
      setNews((before) => ({ key, ids: [...new Set([...(before.key === key ? before.ids : []), ...unplaced])] }));
    }
    await refresh(ids.slice(MAX_IDS));
  }

  useJobChanges((ids) => {
    whenRead(client, options.queryKey, () => void refresh(ids).catch(() => void query.refetch()));
  });
  return {
    query,
    rows: query.data?.pages.flatMap(({ results }) => results) ?? [],
    /** Jobs that match and are not in the list, since it is in another order than by age. */
    nNew: news.key === key ? news.ids.length : 0,
    /** Reads the list anew. */
    reload: () => {
      setNews({ key, ids: [] });
      void client.resetQueries({ queryKey: options.queryKey });
    },
    /** Reads these rows again. */
    refresh,
  };
}

export type JobTableRows = ReturnType<typeof useJobTable>;

/**
 * The rows with those of `ids` as they are now: replaced where they are, gone where they no longer match, and, where the
 * newest come first, new jobs at the top. unplaced: ids that match and that have no place among the rows that are there.
 */
function patched(
  known: Rows,
  ids: ReadonlySet<string>,
  fresh: readonly JobRow[],
  isByAge: boolean,
): { rows: Rows; unplaced: string[] } {
  const now = new Map(fresh.map((row) => [row.id, row]));
  const [newest] = known.pages[0]?.results ?? [];
  const pages = known.pages.map((page) => ({
    ...page,
    results: page.results.flatMap((row) => (ids.has(row.id) ? (now.get(row.id) ?? []) : [row])),
  }));
  const there = new Set(known.pages.flatMap(({ results }) => results.map(({ id }) => id)));
  const others = fresh.filter(({ id }) => !there.has(id));
  const isNew = (row: JobRow) => isByAge && (newest === undefined || row.submitted_at > newest.submitted_at);
  const first = pages[0];
  if (first !== undefined) first.results = [...others.filter(isNew), ...first.results];
  // by age, what is older than all rows that are there comes when one scrolls to it
  return { rows: { ...known, pages }, unplaced: isByAge ? [] : others.map(({ id }) => id) };
}
