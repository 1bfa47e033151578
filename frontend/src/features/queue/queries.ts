// SPDX-License-Identifier: Apache-2.0
// What the page of the queue reads.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const PER_PAGE = 25;

/** owner: a user name; without one, everybody's. */
export const queueQuery = (after: number, owner?: string) =>
  queryOptions({
    queryKey: ["queue", after, owner],
    queryFn: () => unwrap(api.GET("/api/v1/queue", { params: { query: { after, limit: PER_PAGE, ...(owner && { owner }) } } })),
    placeholderData: (previous) => previous,
  });

export const roundsQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: ["scheduler", "rounds", cursor],
    queryFn: () => unwrap(api.GET("/api/v1/rounds", { params: { query: { limit: 15, ...(cursor && { cursor }) } } })),
    placeholderData: (previous) => previous,
  });
