// SPDX-License-Identifier: Apache-2.0
// What the page of the cluster reads, and what it asks for.
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { clusterQuery } from "@/api/cluster";

export interface NodeAction {
  verb: "cordon" | "drain" | "uncordon";
  deadline_s?: number;
}

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
