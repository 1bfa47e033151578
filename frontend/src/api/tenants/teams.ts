// SPDX-License-Identifier: Apache-2.0
// The teams of an organisation, each with the team that it is a part of.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const EVERYTHING = 200;

export function teamsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["members", organisationId, "teams"],
    queryFn: async () => {
      const params = { query: { organisation: organisationId, limit: EVERYTHING } };
      return (await unwrap(api.GET("/api/v1/teams", { params }))).results;
    },
  });
}
