// SPDX-License-Identifier: Apache-2.0
// Machines with an agent, as administrators see them.
import { queryOptions, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { clusterQuery } from "@/api/cluster";

/** Read again with rounds, as all of the cluster: each says which agents have fallen silent. */
export const agentsQuery = queryOptions({
  queryKey: [...clusterQuery.queryKey, "agents"],
  queryFn: () => unwrap(api.GET("/api/v1/agents")),
});

/** Reads agents and nodes anew. */
export function useReread() {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: clusterQuery.queryKey });
}

export function removeAgent(name: string) {
  return unwrap(api.DELETE("/api/v1/agents/{name}", { params: { path: { name } } }));
}
