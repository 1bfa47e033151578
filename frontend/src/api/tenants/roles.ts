// SPDX-License-Identifier: Apache-2.0
// Who has which role in a team or a project, and what the user may do there.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { everyPage } from "@/lib/cursor";

export type PlaceKind = "teams" | "projects";

export function rolesQuery(kind: PlaceKind, id: string) {
  return queryOptions({
    queryKey: ["roles", kind, id],
    queryFn: () =>
      everyPage((query) => {
        const params = { path: { id }, query };
        return unwrap(
          kind === "teams" ? api.GET("/api/v1/teams/{id}/roles", { params }) : api.GET("/api/v1/projects/{id}/roles", { params }),
        );
      }),
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
