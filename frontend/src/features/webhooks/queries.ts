// SPDX-License-Identifier: Apache-2.0
// What the page of webhooks reads.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { pageAt } from "@/lib/cursor";

const EVERYTHING = 200;

export function webhooksQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["webhooks", organisationId],
    queryFn: async () => {
      const params = { path: { id: organisationId }, query: { limit: EVERYTHING } };
      return (await unwrap(api.GET("/api/v1/organisations/{id}/webhooks", { params }))).results;
    },
  });
}

export function deliveriesQuery(webhookId: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["deliveries", webhookId, cursor],
    queryFn: () => {
      const params = { path: { id: webhookId }, query: { ...pageAt(cursor), limit: 20 } };
      return unwrap(api.GET("/api/v1/webhooks/{id}/deliveries", { params }));
    },
    placeholderData: keepPreviousData,
  });
}
