// SPDX-License-Identifier: Apache-2.0
// One job, and what was decided on it.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
  });

/** What was decided on it, and why. */
export const whyQuery = (id: string) =>
  queryOptions({
    queryKey: ["why", id],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/why", { params: { path: { id }, query: { analysis: false } } })),
  });
