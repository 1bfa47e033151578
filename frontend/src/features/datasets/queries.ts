// SPDX-License-Identifier: Apache-2.0
// What the pages of datasets read.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { refreshOf } from "@/api/versions";
import { pageAt } from "@/lib/cursor";

export function datasetsQuery(filters: { project?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ["datasets", filters],
    queryFn: () => unwrap(api.GET("/api/v1/datasets", { params: { query: filters } })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshOf(state.data?.results.map((each) => each.latest_version?.state)),
  });
}

export function datasetQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset", id],
    queryFn: () => unwrap(api.GET("/api/v1/datasets/{id}", { params: { path: { id } } })),
  });
}

export function versionsQuery(id: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["dataset", id, "versions", cursor],
    queryFn: () =>
      unwrap(api.GET("/api/v1/datasets/{id}/versions", { params: { path: { id }, query: pageAt(cursor) } })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshOf(state.data?.results.map((version) => version.state)),
  });
}

/** One version with its preview, which lists leave out. */
export function versionQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset", "version", id],
    queryFn: () => unwrap(api.GET("/api/v1/dataset-versions/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => refreshOf([state.data?.state]),
  });
}
