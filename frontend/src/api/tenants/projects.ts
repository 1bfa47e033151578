// SPDX-License-Identifier: Apache-2.0
// One project, and the projects of an organisation page by page.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function projectQuery(id: string) {
  return queryOptions({
    queryKey: ["projects", "one", id],
    queryFn: () => unwrap(api.GET("/api/v1/projects/{id}", { params: { path: { id } } })),
    staleTime: 60_000,
  });
}

export function projectsOfKey(organisationId: string) {
  return ["projects", "of", organisationId];
}

export function readProjects(organisationId: string, query: { search?: string; cursor?: string }) {
  return unwrap(api.GET("/api/v1/projects", { params: { query: { organisation: organisationId, ...query } } }));
}
