// SPDX-License-Identifier: Apache-2.0
// What the page of retention reads.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const DUE_MS = 5000;

export function retentionQuery(projectId: string) {
  return queryOptions({
    queryKey: ["retention", projectId],
    queryFn: () => unwrap(api.GET("/api/v1/projects/{id}/retention", { params: { path: { id: projectId } } })),
    // while something is being removed, the page shows how far that is
    refetchInterval: ({ state }) => (state.data?.kinds.some(({ due }) => due.n_items > 0) ? DUE_MS : false),
  });
}

export function organisationRetentionQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["retention", "organisation", organisationId],
    queryFn: () => unwrap(api.GET("/api/v1/organisations/{id}/retention", { params: { path: { id: organisationId } } })),
  });
}
