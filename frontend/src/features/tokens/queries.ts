// SPDX-License-Identifier: Apache-2.0
// What the page of API tokens reads.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { pageAt } from "@/lib/cursor";

export function tokensQuery(cursor: string | undefined) {
  return queryOptions({
    queryKey: ["tokens", cursor],
    queryFn: () => unwrap(api.GET("/api/v1/tokens", { params: { query: pageAt(cursor) } })),
    placeholderData: keepPreviousData,
  });
}
