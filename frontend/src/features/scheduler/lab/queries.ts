// SPDX-License-Identifier: Apache-2.0
// What the policy lab reads, and what it asks for.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Replay, ReplayCreate } from "@/api/types";
import { REPLAY_STATES } from "@/domain/scheduling/replayState";

/** How often the progress of a replay is read; its end comes as an event, too. */
const PROGRESS_MS = 2_000;

function isLive(replay: Replay): boolean {
  return !REPLAY_STATES[replay.state].isOver;
}

export const replaysQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: ["scheduler", "replays", cursor],
    queryFn: () => unwrap(api.GET("/api/v1/scheduler/replays", { params: { query: { limit: 20, ...(cursor && { cursor }) } } })),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.results.some(isLive) ? PROGRESS_MS : false),
  });

export const replayQuery = (id: string) =>
  queryOptions({
    queryKey: ["scheduler", "replay", id],
    queryFn: () => unwrap(api.GET("/api/v1/scheduler/replays/{id}", { params: { path: { id } } })),
    refetchInterval: (query) => (query.state.data && isLive(query.state.data) ? PROGRESS_MS : false),
  });

export function createReplay(body: ReplayCreate): Promise<Replay> {
  return unwrap(api.POST("/api/v1/scheduler/replays", { body }));
}

export function cancelReplay(id: string): Promise<Replay> {
  return unwrap(api.POST("/api/v1/scheduler/replays/{id}/cancel", { params: { path: { id } } }));
}
