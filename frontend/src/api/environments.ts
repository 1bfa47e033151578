// SPDX-License-Identifier: Apache-2.0
// Environments: the packages that code requires, and the log of their build.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const WHILE_BUILDING_MS = 2_000;

export function environmentQuery(id: string) {
  return queryOptions({
    queryKey: ["environment", id],
    queryFn: () => unwrap(api.GET("/api/v1/environments/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.state === "building" ? WHILE_BUILDING_MS : false),
  });
}

export function environmentLogQuery(id: string, isBuilding: boolean) {
  return queryOptions({
    queryKey: ["environment", id, "log", isBuilding], // read once more when the build has ended
    queryFn: () => unwrap(api.GET("/api/v1/environments/{id}/log", { params: { path: { id } } })),
    refetchInterval: isBuilding ? WHILE_BUILDING_MS : false,
  });
}
