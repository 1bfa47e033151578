// What the page of the cluster reads.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

/** Nodes come and go without an event of ours. */
const EVERY_MS = 5_000;

export const clusterQuery = queryOptions({
  queryKey: ["cluster"],
  queryFn: () => unwrap(api.GET("/api/v1/cluster")),
  refetchInterval: EVERY_MS,
});
