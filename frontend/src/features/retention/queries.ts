// SPDX-License-Identifier: Apache-2.0
// What the page of retention reads.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function retentionQuery(projectId: string) {
  return queryOptions({
    queryKey: ["retention", projectId],
    queryFn: () => unwrap(api.GET("/api/v1/projects/{id}/retention", { params: { path: { id: projectId } } })),
  });
}

export function organisationRetentionQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["retention", "organisation", organisationId],
    queryFn: () => unwrap(api.GET("/api/v1/organisations/{id}/retention", { params: { path: { id: organisationId } } })),
  });
}
