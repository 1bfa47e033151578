// SPDX-License-Identifier: Apache-2.0
// Environments: the packages that code requires, and the log of their build.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function environmentQuery(id: string) {
  return queryOptions({
    queryKey: ["environment", id],
    queryFn: () => unwrap(api.GET("/api/v1/environments/{id}", { params: { path: { id } } })),
  });
}

export function environmentLogQuery(id: string, isBuilding: boolean) {
  return queryOptions({
    queryKey: ["environment", id, "log", isBuilding], // read once more when the build has ended
    queryFn: () => unwrap(api.GET("/api/v1/environments/{id}/log", { params: { path: { id } } })),
  });
}
