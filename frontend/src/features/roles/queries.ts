// SPDX-License-Identifier: Apache-2.0
// The team whose roles are shown.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function teamQuery(id: string) {
  return queryOptions({
    queryKey: ["roles", "teams", id, "team"],
    queryFn: () => unwrap(api.GET("/api/v1/teams/{id}", { params: { path: { id } } })),
    staleTime: 60_000,
  });
}
