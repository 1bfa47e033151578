// What the page of API tokens reads.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export function tokensQuery(cursor: string | undefined) {
  return queryOptions({
    queryKey: ["tokens", cursor],
    queryFn: () => unwrap(api.GET("/api/v1/tokens", { params: { query: { ...(cursor && { cursor }) } } })),
    placeholderData: keepPreviousData,
  });
}
