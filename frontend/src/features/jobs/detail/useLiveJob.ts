// A job's page data: read over REST first, then kept current by the job's live stream. Nothing lost, nothing doubled.
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { useStream } from "@/api/stream";
import type { Event, Job, JobDetail, LogLine } from "@/api/types";
import { type LogTail, NO_LINES, mergeLines } from "@/features/jobs/detail/logs/logTail";
import { jobQuery } from "@/features/jobs/queries";
import { type Curves, type KeyedPoint, NO_CURVES, mergePoints } from "@/lib/series";

export interface Live {
  /** Where the stream continues: read before everything else, so that what came meanwhile is sent again. */
  cursor: string;
  /** Over for good when it was read: nothing more will come, so no connection is held for it. */
  isSettled: boolean;
  curves: Curves;
  log: LogTail;
  events: readonly Event[];
}

const LOG_WINDOW = 10_000; // rows of the stream, points included, that the page looks back for lines
const LINES = 2000; // asked for at once; the API may give fewer
const EVENTS = 200;
const LAST_WORDS_MS = 60_000; // a pod's last lines may come after its job has ended
const liveKey = (id: string) => ["live", id];

export function useLiveJob(id: string) {
  const client = useQueryClient();
  const job = useQuery(jobQuery(id));
  const live = useQuery({
    queryKey: liveKey(id),
    queryFn: () => readLive(client, id),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    structuralSharing: false,
  });

  const update = (change: (live: Live) => Live) =>
    client.setQueryData<Live>(liveKey(id), (known) => known && change(known));
  const { isConnected } = useStream(
    live.data === undefined || live.data.isSettled ? null : `/api/v1/jobs/${id}/stream`,
    {
      job: (data) => takeJob(client, data as Job),
      event: (data) => update((known) => ({ ...known, events: mergeEvents(known.events, [data as Event]) })),
      metrics: (data) => {
        const { points } = data as { points: KeyedPoint[] };
        update((known) => ({ ...known, curves: mergePoints(known.curves, points) }));
      },
      log: (data) => {
        const { lines } = data as { lines: LogLine[] };
        update((known) => ({ ...known, log: mergeLines(known.log, lines) }));
      },
      gap: () => {
        void client.invalidateQueries({ queryKey: ["job", id] });
        void client.invalidateQueries({ queryKey: liveKey(id) });
      },
    },
    { lastEventId: live.data?.cursor },
  );
  return { job, live, isConnected };
}

/** Everything over REST, merged into what the stream brought meanwhile. */
async function readLive(client: QueryClient, id: string): Promise<Live> {
  const job = await client.query({ ...jobQuery(id), staleTime: 0 });
  const { cursor } = job;
  const [metrics, lines, events] = await Promise.all([
    unwrap(api.GET("/api/v1/jobs/{id}/metrics", { params: { path: { id } } })),
    readLines(id, cursor),
    readEvents(id),
  ]);
  const known = client.getQueryData<Live>(liveKey(id));
  const points = metrics.series.flatMap(({ key, points }) => points.map((point) => ({ key, ...point })));
  return {
    cursor: known?.cursor ?? cursor,
    isSettled: job.finished_at !== null && Date.now() - Date.parse(job.finished_at) > LAST_WORDS_MS,
    curves: mergePoints(known?.curves ?? NO_CURVES, points),
    log: mergeLines(known?.log ?? NO_LINES, lines.lines, lines.isCut),
    events: mergeEvents(known?.events ?? [], events),
  };
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

/** A frame of the stream is the job as lists show it; its attempts are read again when they changed. */
function takeJob(client: QueryClient, job: Job): void {
  const key = jobQuery(job.id).queryKey;
  const known = client.getQueryData(key);
  if (known === undefined) return;
  client.setQueryData(key, withAttempt({ ...known, ...job }));
  const isNew = known.state !== job.state || known.current_attempt?.id !== job.current_attempt?.id;
  if (isNew) void client.invalidateQueries({ queryKey: key });
}

function withAttempt(job: JobDetail): JobDetail {
  const current = job.current_attempt;
  if (current === null) return job;
  const others = job.attempts.filter((attempt) => attempt.id !== current.id);
  return { ...job, attempts: [...others, current].sort((a, b) => a.number - b.number) };
}

/** Oldest first, each once. */
export function mergeEvents(known: readonly Event[], fresh: readonly Event[]): readonly Event[] {
  const byId = new Map([...known, ...fresh].map((event) => [event.id, event]));
  return byId.size === known.length ? known : [...byId.values()].sort((a, b) => a.id - b.id);
}
