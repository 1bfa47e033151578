// SPDX-License-Identifier: Apache-2.0
// The parts of a job that grow while it lives: log and events (curves: metrics/). Each is read, and fails, by itself.
import { type QueryClient, type QueryKey, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Event, LogLine } from "@/api/types";
import { jobQuery } from "@/features/jobs/queries";
import { type LogTail, mergeLines, NO_LINES } from "./logs/logTail";

/** Where the job's stream begins. */
export interface LiveStart {
  /** Read before the parts, so that what comes meanwhile is sent again. */
  cursor: string;
  /** Over for good when it was read: nothing more will come, so no connection is held for it. */
  isSettled: boolean;
}

const LOG_WINDOW = 10_000; // rows of the stream, points included, that the page looks back for lines
const LINES = 2000; // asked for at once; the API may give fewer
const EVENTS = 200;
const LAST_LINES_MS = 60_000; // a pod's last lines may come after its job has ended

/** All of a job's live parts, and where its stream begins. */
export const liveKey = (id: string): QueryKey => ["live", id];

/** The stream keeps them current, and no query reads them again without need. */
const KEPT_CURRENT = {
  staleTime: Infinity,
  gcTime: 0,
  refetchOnWindowFocus: false,
  structuralSharing: false,
} as const;

export const liveStartQuery = (client: QueryClient, id: string) =>
  queryOptions({
    queryKey: [...liveKey(id), "start"],
    queryFn: async (): Promise<LiveStart> => {
      const { cursor, finished_at } = await client.query({ ...jobQuery(id), staleTime: 0 });
      return { cursor, isSettled: finished_at !== null && Date.now() - Date.parse(finished_at) > LAST_LINES_MS };
    },
    ...KEPT_CURRENT,
  });

export const logQuery = (client: QueryClient, id: string) => {
  const queryKey = [...liveKey(id), "log"];
  return queryOptions({
    queryKey,
    queryFn: async (): Promise<LogTail> => {
      const { cursor } = await client.query(liveStartQuery(client, id));
      const { lines, isCut } = await readLines(id, cursor);
      return mergeLines(client.getQueryData<LogTail>(queryKey) ?? NO_LINES, lines, isCut);
    },
    ...KEPT_CURRENT,
  });
};

export const eventsQuery = (client: QueryClient, id: string) => {
  const queryKey = [...liveKey(id), "events"];
  return queryOptions({
    queryKey,
    queryFn: async (): Promise<readonly Event[]> => {
      await client.query(liveStartQuery(client, id));
      const events = await readEvents(id);
      return mergeEvents(client.getQueryData<readonly Event[]>(queryKey) ?? [], events);
    },
    ...KEPT_CURRENT,
  });
};

export function addLines(client: QueryClient, id: string, lines: readonly LogLine[]): void {
  client.setQueryData(logQuery(client, id).queryKey, (known: LogTail = NO_LINES) => mergeLines(known, lines));
}

export function addEvent(client: QueryClient, id: string, event: Event): void {
  client.setQueryData(eventsQuery(client, id).queryKey, (known: readonly Event[] = []) => mergeEvents(known, [event]));
}

/** The newest lines up to the cursor; what comes after it comes from the stream. */
async function readLines(id: string, cursor: string): Promise<{ lines: LogLine[]; isCut: boolean }> {
  const end = Number(cursor.split("-").at(-1)) || 0;
  const start = Math.max(0, end - LOG_WINDOW);
  const lines: LogLine[] = [];
  for (let after = start; after < end; ) {
    const query = { after, limit: LINES };
    const page = await unwrap(api.GET("/api/v1/jobs/{id}/logs", { params: { path: { id }, query } }));
    lines.push(...page.lines);
    const last = page.lines.at(-1)?.seq ?? 0;
    if (last <= after) break;
    after = last;
  }
  return { lines, isCut: start > 0 };
}

async function readEvents(id: string): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = 0; ; ) {
    const query = { after, limit: EVENTS };
    const page = await unwrap(api.GET("/api/v1/jobs/{id}/events", { params: { path: { id }, query } }));
    events.push(...page.results);
    const last = page.results.at(-1)?.id ?? 0;
    if (!page.next || last <= after) return events;
    after = last;
  }
}

/** Oldest first, each once. */
function mergeEvents(known: readonly Event[], fresh: readonly Event[]): readonly Event[] {
  const byId = new Map([...known, ...fresh].map((event) => [event.id, event]));
  return byId.size === known.length ? known : [...byId.values()].sort((a, b) => a.id - b.id);
}
