// SPDX-License-Identifier: Apache-2.0
// Environments: the packages that code requires, the log of their build, and what is done with them.
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

export const stopBuild = (id: string) => unwrap(api.POST("/api/v1/environments/{id}/stop", { params: { path: { id } } }));

export const buildEnvironment = (id: string) => unwrap(api.POST("/api/v1/environments/{id}/build", { params: { path: { id } } }));

export const deleteEnvironment = (id: string) => unwrap(api.DELETE("/api/v1/environments/{id}", { params: { path: { id } } }));
