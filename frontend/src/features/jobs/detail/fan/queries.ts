// SPDX-License-Identifier: Apache-2.0
// Which of a job's metrics stands for it: its training loss, another loss, or the first that it reports.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const USUAL = "train/loss";
const MOST = 20;

/** null: it has reported nothing. hasTrained: until then nothing is kept of the answer. */
export const mainMetricQuery = (id: string, hasTrained: boolean) =>
  queryOptions({
    queryKey: ["job", id, "main-metric", hasTrained],
    queryFn: async (): Promise<string | null> => {
      const losses = await read(id, { search: "loss", limit: MOST });
      return losses.find((key) => key === USUAL) ?? losses[0] ?? (await read(id, { limit: 1 }))[0] ?? null;
    },
    staleTime: 60_000,
  });

async function read(id: string, query: { search?: string; limit: number }): Promise<string[]> {
  const { names } = await unwrap(api.GET("/api/v1/jobs/{id}/metrics/names", { params: { path: { id }, query } }));
  return names.map(({ key }) => key);
}
