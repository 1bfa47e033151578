// SPDX-License-Identifier: Apache-2.0
// Teams as a tree: in which order they are listed, and how deep each is.
import type { Team } from "@/api/types";

export interface TeamPlace {
  team: Team;
  /** 0: directly below the organisation, or below a team that is not among them. */
  level: number;
}

/** Each team before those below it, siblings by name. A team that none of them leads to is listed last. */
export function inTreeOrder(teams: Team[]): TeamPlace[] {
  const ids = new Set(teams.map(({ id }) => id));
  const below = new Map<string, Team[]>();
  for (const team of [...teams].sort((a, b) => a.name.localeCompare(b.name))) {
    const above = team.parent && ids.has(team.parent.id) ? team.parent.id : "";
    below.set(above, [...(below.get(above) ?? []), team]);
  }
  const walk = (above: string, level: number): TeamPlace[] =>
    (below.get(above) ?? []).flatMap((team) => [{ team, level }, ...walk(team.id, level + 1)]);
  const found = walk("", 0);
  const listed = new Set(found.map(({ team }) => team.id));
  return [...found, ...teams.filter(({ id }) => !listed.has(id)).map((team) => ({ team, level: 0 }))];
}
