// SPDX-License-Identifier: Apache-2.0
// The teams of an organisation, each with the team that it is a part of.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { everyPage } from "@/lib/cursor";

/** All of them: what is below what is known of all only. */
export function teamsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["members", organisationId, "teams"],
    queryFn: () =>
      everyPage((page) => unwrap(api.GET("/api/v1/teams", { params: { query: { organisation: organisationId, ...page } } }))),
  });
}
