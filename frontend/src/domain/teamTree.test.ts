// SPDX-License-Identifier: Apache-2.0
// The order of teams below teams.
import { expect, it } from "vitest";

import type { Team } from "@/api/types";
import { inTreeOrder } from "@/domain/teamTree";

function team(name: string, above: string | null = null): Team {
  return { id: name, name, organisation: { id: "o", name: "Acme" }, parent: above === null ? null : { id: above, name: above } };
}

const TEAMS = [team("video", "vision"), team("speech", "research"), team("vision", "research"), team("research"), team("product")];
const ordered = (teams: Team[]) => inTreeOrder(teams).map(({ team: { name }, level }) => [name, level]);

it("lists each team before those below it", () => {
  expect(ordered(TEAMS)).toEqual([
    ["product", 0],
    ["research", 0],
    ["speech", 1],
    ["vision", 1],
    ["video", 2],
  ]);
  expect(ordered([team("video", "not there")])).toEqual([["video", 0]]);
  expect(ordered([team("itself", "itself"), team("top")])).toEqual([
    ["top", 0],
    ["itself", 0],
  ]);
});
