// SPDX-License-Identifier: Apache-2.0
// Keeps what is compared true: of what the stream reports to have changed, those rows alone are read again, together.
import { type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";

import { type ChangeKind, useChanges } from "@/api/live/changes";
import { useJobChanges } from "@/api/live/jobChanges";
import { whenRead } from "@/api/live/underWay";
import { isOver } from "@/domain/states/jobState";

import { type ComparedJob, comparedJobsQuery, readJobs } from "./queries";

/** Rows of a query's answer, each of a job or run, that can be read without the others. */
export interface Rows<T> {
  queryKey: QueryKey;
  /** All of the jobs or runs, in the order of the rows. */
  ids: readonly string[];
  idOf: (row: T) => string;
  read: (ids: readonly string[]) => Promise<T[]>;
}

/** Jobs that an event is about, and while any train, what these have reached, every few seconds at most. */
export function useLiveJobs(ids: readonly string[], jobs: readonly ComparedJob[]): void {
  const client = useQueryClient();
  const rows: Rows<ComparedJob> = { queryKey: comparedJobsQuery(ids).queryKey, ids, idOf: ({ id }) => id, read: readJobs };
  const growing = jobs.filter((job) => !isOver(job)).map(({ id }) => id);
  useJobChanges((changed) => readRows(client, rows, changed.filter((id) => ids.includes(id))));
  useGrowingRows("progress", rows, growing);
}

/** Reads these rows again when the stream reports a change of that kind, every few seconds at most. */
export function useGrowingRows<T>(kind: ChangeKind, rows: Rows<T>, ids: readonly string[]): void {
  const client = useQueryClient();
  useChanges(ids.length > 0 ? kind : null, () => readRows(client, rows, ids));
}

/** Where that fails, the whole query is read again, and says what is wrong. */
function readRows<T>(client: QueryClient, rows: Rows<T>, ids: readonly string[]): void {
  if (ids.length > 0) whenRead(client, rows.queryKey, () => readNow(client, rows, ids));
}

function readNow<T>(client: QueryClient, rows: Rows<T>, ids: readonly string[]): void {
  if (client.getQueryData(rows.queryKey) === undefined) return;
  rows.read(ids).then(
    (fresh) => {
      client.setQueryData<T[]>(rows.queryKey, (known) => known && renewed(known, fresh, rows, new Set(ids)));
    },
    () => void client.invalidateQueries({ queryKey: rows.queryKey, exact: true }),
  );
}

/** The rows with those of `ids` as they are now: replaced, added, or gone. */
function renewed<T>(known: readonly T[], fresh: readonly T[], { ids: all, idOf }: Rows<T>, ids: ReadonlySet<string>): T[] {
  const places = new Map(all.map((id, place) => [id, place]));
  const placeOf = (row: T) => places.get(idOf(row)) ?? 0;
  return [...known.filter((row) => !ids.has(idOf(row))), ...fresh].sort((a, b) => placeOf(a) - placeOf(b));
}
