// SPDX-License-Identifier: Apache-2.0
// What the page of the cluster reads, and what it asks for.
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, commaLists, unwrap } from "@/api/client";
import { clusterQuery } from "@/api/cluster";

export interface NodeAction {
  verb: "cordon" | "drain" | "uncordon";
  deadline_s?: number;
}

/** When each of these jobs is predicted to finish, by id; null: that is not known. */
export const finishesQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["jobs", "finishes", ids],
    queryFn: async () => {
      const query = { id: [...ids], fields: "id,predicted_finish_at", limit: 200 };
      const { results } = await unwrap(api.GET("/api/v1/jobs", { params: { query }, querySerializer: commaLists }));
      return new Map(results.map(({ id, predicted_finish_at }) => [id, predicted_finish_at]));
    },
    enabled: ids.length > 0,
  });

/** Closes a node to jobs or opens it; the answer is the cluster as it is then. */
export function useNodeAction(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ verb, deadline_s }: NodeAction) => {
      const params = { params: { path: { name } }, body: { deadline_s } };
      if (verb === "cordon") return unwrap(api.POST("/api/v1/cluster/nodes/{name}/cordon", params));
      if (verb === "drain") return unwrap(api.POST("/api/v1/cluster/nodes/{name}/drain", params));
      return unwrap(api.POST("/api/v1/cluster/nodes/{name}/uncordon", params));
    },
    onSuccess: (cluster) => client.setQueryData(clusterQuery.queryKey, cluster),
  });
}
