// SPDX-License-Identifier: Apache-2.0
// What the scheduler's page reads.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export const settingsQuery = queryOptions({
  queryKey: ["scheduler", "settings"],
  queryFn: () => unwrap(api.GET("/api/v1/scheduler/settings")),
});

export const insightQuery = queryOptions({
  queryKey: ["scheduler", "insight"],
  queryFn: () => unwrap(api.GET("/api/v1/scheduler/insight")),
});
