// SPDX-License-Identifier: Apache-2.0
// What the pages of models read.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { refreshOf } from "@/api/versions";
import { pageAt } from "@/lib/cursor";

export type Source = "upload" | "training";

export function modelsQuery(filters: { project?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ["models", filters],
    queryFn: () => unwrap(api.GET("/api/v1/models", { params: { query: filters } })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshOf(state.data?.results.map((each) => each.latest_version?.state)),
  });
}

export function modelQuery(id: string) {
  return queryOptions({
    queryKey: ["model", id],
    queryFn: () => unwrap(api.GET("/api/v1/models/{id}", { params: { path: { id } } })),
  });
}

export function versionsQuery(id: string, source: Source, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["model", id, "versions", source, cursor],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/models/{id}/versions", { params: { path: { id }, query: { source, ...pageAt(cursor) } } }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshOf(state.data?.results.map((version) => version.state)),
  });
}

export function versionQuery(id: string) {
  return queryOptions({
    queryKey: ["model", "version", id],
    queryFn: () => unwrap(api.GET("/api/v1/model-versions/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => refreshOf([state.data?.state]),
  });
}
