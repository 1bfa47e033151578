// SPDX-License-Identifier: Apache-2.0
// The secrets of a project, by name: their values are never read.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const EVERYTHING = 200;

export function secretsQuery(projectId: string) {
  return queryOptions({
    queryKey: ["secrets", projectId],
    queryFn: () => {
      const params = { path: { id: projectId }, query: { limit: EVERYTHING } };
      return unwrap(api.GET("/api/v1/projects/{id}/secrets", { params }));
    },
  });
}
