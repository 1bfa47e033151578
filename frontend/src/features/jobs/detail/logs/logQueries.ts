// SPDX-License-Identifier: Apache-2.0
// A job's log by pages, earlier ones and later ones as one scrolls there. The stream adds lines at its end.
import { t } from "@lingui/core/macro";
import { type InfiniteData, type QueryClient, type QueryKey, infiniteQueryOptions, keepPreviousData, queryOptions, skipToken, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import { api, unwrap } from "@/api/client";
import { MIN_BETWEEN_MS, settled } from "@/api/live/changes";
import type { LogLine, LogOverview } from "@/api/types";

import { liveKey, liveStartQuery } from "../liveParts";

/** Where reading begins: after a line or a time, or (null) at the newest lines. */
export type LogStart = { after: number } | { at: string } | null;

/** Which lines are wanted, as the API's query has it. */
export interface LogFilter {
  role?: "worker" | "server";
  index?: number;
  search?: string;
  is_regex?: boolean;
}

export interface LogPage {
  lines: readonly LogLine[];
  hasEarlier: boolean;
  hasLater: boolean;
  /** How many lines of the whole log match; null without a search. */
  nFound: number | null;
  /** The seq up to which later lines have been looked for. */
  until: number;
}

type PageStart = { before: number } | { after: number } | { at: string };
type Log = InfiniteData<LogPage, PageStart>;

const LINES = 500;
const SECTIONS = 200;
const OVERVIEW_SEARCH_MS = 20_000; // between looks at a log that grows, when it is searched
const ABOVE_ALL = Number.MAX_SAFE_INTEGER; // no line has such a seq

const overviewKey = (id: string): QueryKey => [...liveKey(id), "log-overview"];
const logKey = (id: string): QueryKey => [...liveKey(id), "log"];
/** The seq of the last line that the stream brought. */
const endKey = (id: string): QueryKey => [...liveKey(id), t`log's end`];

export const logQuery = (id: string, start: LogStart, filter: LogFilter) =>
  infiniteQueryOptions({
    queryKey: [...logKey(id), start, filter] as const,
    queryFn: async ({ pageParam, client }) => {
      await client.query(liveStartQuery(client, id)); // what comes after it is sent by the stream
      const page = await readPage(id, pageParam, filter);
      const end = client.getQueryData<number>(endKey(id)) ?? 0; // lines may have come while the page was on its way
      return { ...page, hasLater: page.hasLater || end > page.until };
    },
    initialPageParam: (start ?? { before: ABOVE_ALL }),
    getPreviousPageParam: (first): PageStart | undefined => {
      const [line] = first.lines;
      return first.hasEarlier && line !== undefined ? { before: line.seq } : undefined;
    },
    getNextPageParam: (last): PageStart | undefined => (last.hasLater ? { after: last.until } : undefined),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    structuralSharing: false,
  });

/** Where in the whole log errors and the lines that match are. */
export const overviewQuery = (id: string, filter: LogFilter) =>
  queryOptions({
    queryKey: [...overviewKey(id), filter] as const,
    queryFn: (): Promise<LogOverview> =>
      unwrap(api.GET("/api/v1/jobs/{id}/logs/overview", { params: { path: { id }, query: { ...filter, sections: SECTIONS } } })),
    placeholderData: keepPreviousData,
    retry: false,
  });

/** As overviewQuery; it is read again when the stream has brought lines. */
export function useLogOverview(id: string, filter: LogFilter): UseQueryResult<LogOverview> {
  const client = useQueryClient();
  const isSearched = filter.search !== undefined;
  const reader = useMemo(
    () => settled(() => void client.invalidateQueries({ queryKey: overviewKey(id) }), isSearched ? OVERVIEW_SEARCH_MS : MIN_BETWEEN_MS),
    [client, id, isSearched],
  );
  useEffect(() => () => reader.cancel(), [reader]);
  const end = useQuery<number>({ queryKey: endKey(id), queryFn: skipToken }).data;
  const seen = useRef(end);
  useEffect(() => {
    if (seen.current !== end) reader.ask();
    seen.current = end;
  }, [end, reader]);
  return useQuery(overviewQuery(id, filter));
}

/** The seq of the nearest line with an error, after a line or before one; null: there is none. */
export async function findError(id: string, start: { after: number } | { before: number }, pods: LogFilter): Promise<number | null> {
  const query = { ...start, ...pods, errors: true, limit: 1 };
  const page = await unwrap(api.GET("/api/v1/jobs/{id}/logs", { params: { path: { id }, query } }));
  return page.lines[0]?.seq ?? null;
}

async function readPage(id: string, start: PageStart, filter: LogFilter): Promise<LogPage> {
  const query = { ...start, ...filter, limit: LINES };
  const page = await unwrap(api.GET("/api/v1/jobs/{id}/logs", { params: { path: { id }, query } }));
  const isBackwards = "before" in start;
  const isNewest = isBackwards && start.before === ABOVE_ALL;
  const last = page.lines.at(-1)?.seq ?? 0;
  const seen = Number(page.cursor.split("-").at(-1)) || 0; // what came later was perhaps not there when it was read
  return {
    lines: page.lines,
    hasEarlier: isBackwards ? !page.is_end : !("after" in start) || start.after > 0,
    hasLater: isBackwards ? !isNewest : !page.is_end,
    nFound: page.n_found,
    until: isNewest || (!isBackwards && page.is_end) ? Math.max(seen, last) : last,
  };
}

/**
 * Adds what the stream brought to the logs that are shown up to their end. Of a filtered one it is only known that more
 * may be there. A log that could not be read begins with these lines.
 */
export function addLines(client: QueryClient, id: string, lines: readonly LogLine[]): void {
  const end = lines.at(-1)?.seq ?? 0;
  client.setQueryData<number>(endKey(id), (known = 0) => Math.max(known, end));
  for (const { queryKey, state } of client.getQueryCache().findAll({ queryKey: logKey(id) })) {
    const isWhole = Object.keys(queryKey.at(-1) as LogFilter).length === 0;
    const log = state.data as Log | undefined;
    if (log !== undefined) client.setQueryData<Log>(queryKey, withLines(log, lines, isWhole));
    else if (isWhole && queryKey.at(-2) === null) {
      const page = { lines, hasEarlier: true, hasLater: false, nFound: null, until: end };
      if (state.status === "error") client.setQueryData<Log>(queryKey, { pages: [page], pageParams: [{ before: ABOVE_ALL }] });
    }
  }
}

function withLines(log: Log, lines: readonly LogLine[], isWhole: boolean): Log {
  const last = log.pages.at(-1);
  if (last === undefined || last.hasLater) return log;
  const fresh = lines.filter(({ seq }) => seq > last.until);
  if (fresh.length === 0) return log;
  const page = isWhole
    ? { ...last, lines: [...last.lines, ...fresh], until: fresh.at(-1)?.seq ?? last.until }
    : { ...last, hasLater: true };
  return { ...log, pages: [...log.pages.slice(0, -1), page] };
}
