// SPDX-License-Identifier: Apache-2.0
// The teams of an organisation, each with the team that it is a part of.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Team } from "@/api/types";
import { cursorOf, pageAt } from "@/lib/cursor";

/** The most rows of one answer. */
const PAGE = 200;

/** All of them: what is below what is known of all only. */
export function teamsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["members", organisationId, "teams"],
    queryFn: async () => {
      const teams: Team[] = [];
      let cursor: string | undefined;
      do {
        const query = { organisation: organisationId, limit: PAGE, ...pageAt(cursor) };
        const { next, results } = await unwrap(api.GET("/api/v1/teams", { params: { query } }));
        teams.push(...results);
        cursor = cursorOf(next);
      } while (cursor !== undefined);
      return teams;
    },
  });
}
