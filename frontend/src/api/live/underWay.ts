// SPDX-License-Identifier: Apache-2.0
// What the stream reports while an answer is under way may not be in that answer, which was perhaps made before.
import type { Query, QueryClient, QueryKey } from "@tanstack/react-query";

/** Queries whose key begins so; isTouched: those of them that are meant, by what they hold. */
export interface Touched {
  key: QueryKey;
  isTouched?: (query: Query) => boolean;
}

/** Reads these again; one that is read for the first time, once its answer is there. */
export function readAgain(queries: QueryClient, { key, isTouched }: Touched, refetchType: "active" | "none" = "active"): void {
  const read = (queryKey: QueryKey, exact: boolean) =>
    void queries.invalidateQueries({ queryKey, exact, refetchType, ...(isTouched && { predicate: isTouched }) });
  const first = queries.getQueryCache().findAll({ queryKey: key, fetchStatus: "fetching", predicate: ({ state }) => state.data === undefined });
  read(key, false); // breaks off what is under way, but for first answers
  for (const query of first) void query.promise?.then(() => read(query.queryKey, true), () => undefined);
}

/** Runs it when no answer to this query is under way, which would replace what it changes by what was before. */
export function whenRead(queries: QueryClient, queryKey: QueryKey, run: () => void): void {
  const query = queries.getQueryCache().find({ queryKey, exact: true });
  if (query?.state.fetchStatus === "fetching" && query.promise) void query.promise.then(run, () => undefined);
  else run();
}
