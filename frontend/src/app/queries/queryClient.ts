// SPDX-License-Identifier: Apache-2.0
// How the dashboard caches and retries what it reads.
import { QueryCache, QueryClient } from "@tanstack/react-query";

import { Problem } from "@/api/client";
import { meQuery } from "@/api/session";

const RETRIES = 2;

export function createQueryClient({ retries = RETRIES }: { retries?: number } = {}): QueryClient {
  const queries: QueryClient = new QueryClient({
    defaultOptions: {
      queries: { staleTime: 5_000, retry: (failures, error) => failures < retries && isWorthRetrying(error) },
    },
    // A session that has ended shows first on whatever is read next: asking who we are leads to signing in. What was
    // deleted, or may not be seen any more, is not shown from memory.
    queryCache: new QueryCache({
      onError: (error, query) => {
        const isAboutMe = query.queryKey[0] === meQuery.queryKey[0];
        if (error instanceof Problem && error.status === 401 && !isAboutMe) {
          void queries.invalidateQueries({ queryKey: meQuery.queryKey });
        }
        if (error instanceof Problem && error.status === 404) query.setState({ ...query.state, data: undefined });
      },
    }),
  });
  return queries;
}

/** Refusals stay refusals; silence and the server's own failures may pass. */
function isWorthRetrying(error: Error): boolean {
  return !(error instanceof Problem) || error.status === 0 || error.status >= 500;
}
