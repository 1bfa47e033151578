// SPDX-License-Identifier: Apache-2.0
// The scheduler as more than one page asks for it: how it stands, and what would be if something were different.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { JobPreview, PlannedJob, WhatIf, WhatIfAnswer } from "@/api/types";

/** The time without a round after which it is asked: that none comes any more is what no stream can report. Each one that comes puts it off. */
const SILENCE_MS = 10_000;

export const schedulerStatusQuery = queryOptions({
  queryKey: ["scheduler", "status"],
  queryFn: () => unwrap(api.GET("/api/v1/scheduler/status")),
  refetchInterval: SILENCE_MS,
});

export function previewJob(request: PlannedJob): Promise<JobPreview> {
  return unwrap(api.POST("/api/v1/jobs/preview", { body: request }));
}

export function whatIf(question: WhatIf): Promise<WhatIfAnswer> {
  return unwrap(api.POST("/api/v1/what-if", { body: question }));
}
