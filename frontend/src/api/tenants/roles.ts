// SPDX-License-Identifier: Apache-2.0
// Who has which role in a team or a project, and what the user may do there.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Role } from "@/api/types";

export type PlaceKind = "teams" | "projects";

export const rolesKey = (kind: PlaceKind, id: string) => ["roles", kind, id];

/** Who has a role in the place, a page at a time. */
export function readRoles(kind: PlaceKind, id: string, query: { search?: string; role?: Role[]; cursor?: string; limit?: number }) {
  const params = { path: { id }, query };
  return unwrap(kind === "teams" ? api.GET("/api/v1/teams/{id}/roles", { params }) : api.GET("/api/v1/projects/{id}/roles", { params }));
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
