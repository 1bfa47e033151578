// SPDX-License-Identifier: Apache-2.0
// The teams of an organisation, each with the team that it is a part of; searched, of any number.
import { api, unwrap } from "@/api/client";
import type { ChoiceSource } from "@/api/choices";

/** A team's name is its organisation's only one. */
export interface NamedTeam {
  id: string;
  name: string;
}

export function teamsOfKey(organisationId: string) {
  return ["members", organisationId, "teams"];
}

export function readTeams(organisationId: string, query: { search?: string; cursor?: string; limit?: number }) {
  return unwrap(api.GET("/api/v1/teams", { params: { query: { organisation: organisationId, ...query } } }));
}

export function teamChoices(organisationId: string): ChoiceSource<NamedTeam> {
  return {
    key: [...teamsOfKey(organisationId), "choices"],
    read: (query) => readTeams(organisationId, query),
    idOf: ({ id }) => id,
    findsMore: true,
    readOne: (id) => unwrap(api.GET("/api/v1/teams/{id}", { params: { path: { id } } })),
  };
}
