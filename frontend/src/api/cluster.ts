// SPDX-License-Identifier: Apache-2.0
// The cluster as it was last observed.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "./client";

export const clusterQuery = queryOptions({
  queryKey: ["cluster"],
  queryFn: () => unwrap(api.GET("/api/v1/cluster")),
});
