// SPDX-License-Identifier: Apache-2.0
// What the page of the queue reads.
import { type QueryClient, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

import { type Move, requestOf } from "./moves/move";

const PER_PAGE = 25;

/** owner: a user name; without one, everybody's. gpuType: of jobs that may use it; without one, all. */
export const queueQuery = (after: number, owner?: string, gpuType?: string) =>
  queryOptions({
    queryKey: ["queue", after, owner, gpuType],
    queryFn: () => {
      const query = { after, limit: PER_PAGE, ...(owner && { owner }), ...(gpuType && { gpu_type: gpuType }) };
      return unwrap(api.GET("/api/v1/queue", { params: { query } }));
    },
    placeholderData: (previous) => previous,
  });

export const roundsQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: ["scheduler", "rounds", cursor],
    queryFn: () => unwrap(api.GET("/api/v1/rounds", { params: { query: { limit: 15, ...(cursor && { cursor }) } } })),
    placeholderData: (previous) => previous,
  });

/** A simulation, made once for each move that is looked at: rounds that come meanwhile do not ask for it again. */
export const moveQuery = (move: Move) =>
  queryOptions({
    queryKey: ["queue-move", move.job.id, move.side, move.neighbour.id],
    queryFn: () => unwrap(api.POST("/api/v1/queue/moves", { body: requestOf(move) })),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });

/** Takes it out of the queue; what it asked for stays as it is. */
export async function pause(queries: QueryClient, id: string): Promise<void> {
  await unwrap(api.POST("/api/v1/jobs/{id}/pause", { params: { path: { id } } }));
  await refresh(queries, id);
}

export async function resume(queries: QueryClient, id: string): Promise<void> {
  await unwrap(api.POST("/api/v1/jobs/{id}/resume", { params: { path: { id } } }));
  await refresh(queries, id);
}

/** Its place follows with the next round. */
export async function givePriority(queries: QueryClient, id: string, priority: number): Promise<void> {
  await unwrap(api.PATCH("/api/v1/jobs/{id}", { params: { path: { id } }, body: { priority } }));
  await refresh(queries, id);
}

async function refresh(queries: QueryClient, id: string): Promise<void> {
  await Promise.all([["queue"], ["job", id], ["jobs"], ["why", id]].map((queryKey) => queries.invalidateQueries({ queryKey })));
}
