// SPDX-License-Identifier: Apache-2.0
// The scheduler as more than one page asks for it: how it stands, and what would be if something were different.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { JobPreview, PlannedJob, WhatIf, WhatIfAnswer } from "@/api/types";

/** A timer, since that no round comes any more is what no stream can report; rounds that come are reported. */
const EVERY_MS = 10_000;

export const schedulerStatusQuery = queryOptions({
  queryKey: ["scheduler", "status"],
  queryFn: () => unwrap(api.GET("/api/v1/scheduler/status")),
  refetchInterval: EVERY_MS,
});

export function previewJob(request: PlannedJob): Promise<JobPreview> {
  return unwrap(api.POST("/api/v1/jobs/preview", { body: request }));
}

export function whatIf(question: WhatIf): Promise<WhatIfAnswer> {
  return unwrap(api.POST("/api/v1/what-if", { body: question }));
}
