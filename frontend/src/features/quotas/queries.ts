// SPDX-License-Identifier: Apache-2.0
// What the page of quotas reads.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function quotaQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["quota", organisationId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/organisations/{id}/quota", { params: { path: { id: organisationId } } })),
  });
}

export function quotaTreeQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["quota-tree", organisationId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/organisations/{id}/quota-tree", { params: { path: { id: organisationId } } })),
  });
}
