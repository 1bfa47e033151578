// SPDX-License-Identifier: Apache-2.0
// The parts of a job that grow while it lives: its events (curves: metrics/, log: logs/). Each is read, and fails, by itself.
import { type QueryClient, type QueryKey, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { jobQuery } from "@/api/jobs";
import type { Event } from "@/api/types";

/** Where the job's stream begins. */
export interface LiveStart {
  /** Read before the parts, so that what comes meanwhile is sent again. */
  cursor: string;
  /** Over for good when it was read: nothing more will come, so no connection is held for it. */
  isSettled: boolean;
}

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

/** To the events that are shown or on their way; who opens them later reads them all. */
export function addEvent(client: QueryClient, id: string, event: Event): void {
  const { queryKey } = eventsQuery(client, id);
  if (client.getQueryState(queryKey) === undefined) return;
  client.setQueryData(queryKey, (known: readonly Event[] = []) => mergeEvents(known, [event]));
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
