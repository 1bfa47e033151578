// SPDX-License-Identifier: Apache-2.0
// The accounts of the platform, for its administrators.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function readUsers(query: { search?: string; cursor?: string }) {
  return unwrap(api.GET("/api/v1/users", { params: { query } }));
}

export function userDeletionQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "deletion", id],
    queryFn: () => unwrap(api.GET("/api/v1/users/{id}/deletion", { params: { path: { id } } })),
    staleTime: 0,
  });
}
