// SPDX-License-Identifier: Apache-2.0
// What the page of environments reads.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { EnvironmentState } from "@/api/types";

interface Filters {
  state?: EnvironmentState;
  cursor?: string;
}

export const environmentsQuery = (filters: Filters) =>
  queryOptions({
    queryKey: ["environments", filters],
    queryFn: () => unwrap(api.GET("/api/v1/environments", { params: { query: filters } })),
    placeholderData: keepPreviousData,
  });
