// SPDX-License-Identifier: Apache-2.0
// The accounts of the platform, for its administrators.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function usersQuery(query: { username?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ["users", query],
    queryFn: () => unwrap(api.GET("/api/v1/users", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** All who may become the maker of what a deleted user leaves. */
export const heirsQuery = queryOptions({
  queryKey: ["users", "heirs"],
  queryFn: async () =>
    (await unwrap(api.GET("/api/v1/users", { params: { query: { is_active: true, limit: 200 } } }))).results,
});

export function userDeletionQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "deletion", id],
    queryFn: () => unwrap(api.GET("/api/v1/users/{id}/deletion", { params: { path: { id } } })),
    staleTime: 0,
  });
}
