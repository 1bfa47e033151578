// SPDX-License-Identifier: Apache-2.0
// The filters and the page of a list, kept in the address, so that a link or going back shows the same.
import { useSearchParams } from "react-router";

export type Filters<Name extends string> = Partial<Record<Name | "cursor", string>>;

export function useFilters<Name extends string>(names: readonly Name[]) {
  const [search, setSearch] = useSearchParams();
  const filters: Filters<Name> = {};
  for (const name of [...names, "cursor" as const]) {
    const value = search.get(name);
    if (value) filters[name] = value;
  }

  function set(name: string, value: string | undefined, without?: Name) {
    setSearch((known) => {
      known.delete("cursor");
      if (without !== undefined) known.delete(without);
      if (value) known.set(name, value);
      else known.delete(name);
      return known;
    });
  }

  return {
    filters,
    /** "" is no filter. A new filter starts at the first page again. without: a filter that makes no sense with it. */
    filter: (name: Name, value: string, without?: Name) => set(name, value, without),
    turn: (cursor: string | undefined) => set("cursor", cursor),
  };
}
