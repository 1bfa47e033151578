// SPDX-License-Identifier: Apache-2.0
// Who has which role in a team or a project, and what the user may do there.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const EVERYTHING = 200;

export type PlaceKind = "teams" | "projects";

export function rolesQuery(kind: PlaceKind, id: string) {
  return queryOptions({
    queryKey: ["roles", kind, id],
    queryFn: async () => {
      const params = { path: { id }, query: { limit: EVERYTHING } };
      const found = kind === "teams" ? api.GET("/api/v1/teams/{id}/roles", { params }) : api.GET("/api/v1/projects/{id}/roles", { params });
      return (await unwrap(found)).results;
    },
    staleTime: 60_000,
  });
}

export function permissionsQuery(kind: PlaceKind, id: string) {
  return queryOptions({
    queryKey: ["permissions", kind, id],
    queryFn: () => {
      const params = { path: { id } };
      return unwrap(
        kind === "teams" ? api.GET("/api/v1/teams/{id}/permissions", { params }) : api.GET("/api/v1/projects/{id}/permissions", { params }),
      );
    },
  });
}
