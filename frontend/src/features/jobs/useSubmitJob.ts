// SPDX-License-Identifier: Apache-2.0
// Submits a job, once: a retry of the same content is the same job, a corrected one is another.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";

import { api, unwrap } from "@/api/client";
import type { Job, JobSubmit } from "@/api/types";
import { newKey } from "@/features/jobs/new/draft";

/** instead: another way to start the job, such as cloning one. */
export function useSubmitJob(instead?: () => Promise<Job>) {
  const client = useQueryClient();
  const sent = useRef({ body: "", key: "" });
  return useMutation({
    mutationFn: (request: JobSubmit): Promise<Job> => {
      if (instead !== undefined) return instead();
      const body = JSON.stringify(request);
      if (sent.current.body !== body) sent.current = { body, key: newKey() };
      const headers = { "Idempotency-Key": sent.current.key };
      return unwrap(api.POST("/api/v1/jobs", { body: request, headers }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  });
}
