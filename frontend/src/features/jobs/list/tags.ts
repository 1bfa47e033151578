// SPDX-License-Identifier: Apache-2.0
// The tags that jobs have, for filters and for tagging.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export const tagsQuery = queryOptions({
  queryKey: ["job-tags"],
  queryFn: () => unwrap(api.GET("/api/v1/job-tags")),
  staleTime: 60_000,
});
