// SPDX-License-Identifier: Apache-2.0
// Teams as a tree: in which order they are listed, how deep each is, and what it is called with those above it.
import type { Team } from "@/api/types";

export interface TeamPlace {
  team: Team;
  /** 0: directly below the organisation. */
  level: number;
  /** "research / vision" */
  path: string;
}

/** Each team before those below it, siblings by name. A team that none of them leads to is listed last. */
export function inTreeOrder(teams: Team[]): TeamPlace[] {
  const ids = new Set(teams.map(({ id }) => id));
  const below = new Map<string, Team[]>();
  for (const team of [...teams].sort((a, b) => a.name.localeCompare(b.name))) {
    const above = team.parent && ids.has(team.parent.id) ? team.parent.id : "";
    below.set(above, [...(below.get(above) ?? []), team]);
  }
  const walk = (above: string, level: number, before: string): TeamPlace[] =>
    (below.get(above) ?? []).flatMap((team) => {
      const path = before ? `${before} / ${team.name}` : team.name;
      return [{ team, level, path }, ...walk(team.id, level + 1, path)];
    });
  const found = walk("", 0, "");
  const listed = new Set(found.map(({ team }) => team.id));
  return [...found, ...teams.filter(({ id }) => !listed.has(id)).map((team) => ({ team, level: 0, path: team.name }))];
}

/** Of a picker: each team's id with its path. */
export function teamOptions(places: TeamPlace[]): { value: string; label: string }[] {
  return places.map(({ team, path }) => ({ value: team.id, label: path }));
}

/** Those below which the team could be moved: neither itself nor what is below it. places: in the order of the tree. */
export function possibleParents(team: Team, places: TeamPlace[]): TeamPlace[] {
  const from = places.findIndex((place) => place.team.id === team.id);
  const level = places[from]?.level ?? 0;
  const end = places.findIndex((place, n) => n > from && place.level <= level);
  return places.filter((_, n) => n < from || (end !== -1 && n >= end));
}
