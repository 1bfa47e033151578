// SPDX-License-Identifier: Apache-2.0
// The order and the paths of teams below teams, and where a team may be moved to.
import { expect, it } from "vitest";

import type { Team } from "@/api/types";
import { inTreeOrder, possibleParents } from "@/domain/teamTree";

function team(name: string, above: string | null = null): Team {
  return { id: name, name, organisation: { id: "o", name: "Acme" }, parent: above === null ? null : { id: above, name: above } };
}

const TEAMS = [team("video", "vision"), team("speech", "research"), team("vision", "research"), team("research"), team("product")];

it("lists each team before those below it, with its path", () => {
  expect(inTreeOrder(TEAMS).map(({ path, level }) => [path, level])).toEqual([
    ["product", 0],
    ["research", 0],
    ["research / speech", 1],
    ["research / vision", 1],
    ["research / vision / video", 2],
  ]);
  expect(inTreeOrder([team("video", "not there")]).map(({ path }) => path)).toEqual(["video"]);
  expect(inTreeOrder([team("itself", "itself"), team("top")]).map(({ path }) => path)).toEqual(["top", "itself"]);
});

it("offers no team below itself", () => {
  const places = inTreeOrder(TEAMS);
  const names = (of: string) => possibleParents(team(of), places).map(({ team: { name } }) => name);
  expect(names("research")).toEqual(["product"]);
  expect(names("vision")).toEqual(["product", "research", "speech"]);
  expect(names("product")).toEqual(["research", "speech", "vision", "video"]);
});
