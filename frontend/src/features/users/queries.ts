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

export function userDeletionQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "deletion", id],
    queryFn: () => unwrap(api.GET("/api/v1/users/{id}/deletion", { params: { path: { id } } })),
    staleTime: 0,
  });
}
