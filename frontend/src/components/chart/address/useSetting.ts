// SPDX-License-Identifier: Apache-2.0
// Settings of the page, kept in the address; the fragment, where many ids are, stays.
import { useCallback, useMemo } from "react";
import { useLocation, useNavigate } from "react-router";

import { MOST_IN_QUERY } from "@/domain/compareAddress";

export function useSetting(name: string, usual: string): [string, (value: string) => void] {
  const { search, hash, pathname } = useLocation();
  const navigate = useNavigate();
  const set = useCallback(
    (value: string) => {
      const query = new URLSearchParams(search);
      if (value === usual) query.delete(name);
      else query.set(name, value);
      void navigate({ pathname, search: query.toString(), hash }, { replace: true });
    },
    [navigate, pathname, search, hash, name, usual],
  );
  return [new URLSearchParams(search).get(name) ?? usual, set];
}

/** Different ids, separated by commas, of the query or, where they are many, of the fragment. */
export function useIds(name: string): [string[], (ids: readonly string[]) => void] {
  const { search, hash, pathname } = useLocation();
  const navigate = useNavigate();
  const query = new URLSearchParams(search);
  const fragment = new URLSearchParams(hash.slice(1));
  const text = query.get(name) ?? fragment.get(name) ?? "";
  const ids = useMemo(() => [...new Set(text.split(",").filter((id) => id !== ""))], [text]);
  function set(chosen: readonly string[]) {
    query.delete(name);
    fragment.delete(name);
    if (chosen.length > 0) (chosen.length > MOST_IN_QUERY ? fragment : query).set(name, chosen.join(","));
    void navigate({ pathname, search: query.toString(), hash: fragment.toString() }, { replace: true });
  }
  return [ids, set];
}

/** "lr:log,weight%3Adecay:linear" as names with a value each; names are of any letters. */
export function pairsOf(text: string): Map<string, string> {
  const pairs = text.split(",").map((pair) => pair.split(":", 2));
  return new Map(pairs.flatMap(([name = "", value]) => (value === undefined ? [] : [[decoded(name), value] as const])));
}

export function textOfPairs(pairs: ReadonlyMap<string, string>): string {
  return [...pairs].map(([name, value]) => `${encodeURIComponent(name)}:${value}`).join(",");
}

export function listOf(text: string): string[] {
  return text === "" ? [] : text.split(",").map(decoded);
}

export function textOfList(names: readonly string[]): string {
  return names.map(encodeURIComponent).join(",");
}

/** An address that somebody mistyped is not a reason to fail. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
