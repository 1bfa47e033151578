// SPDX-License-Identifier: Apache-2.0
// The ranges on the axes of parallel coordinates, kept in the address: "lr:0.001~0.1".
import { useMemo } from "react";

import type { Ranges } from "@/components/chart/parallel/ranges";

import { pairsOf, textOfPairs, useSetting } from "./useSetting";

export function useRanges(): [Ranges, (ranges: Ranges) => void] {
  const [text, setText] = useSetting("keep", "");
  const ranges = useMemo(() => rangesOf(text), [text]);
  const set = (ranges: Ranges) => setText(textOfPairs(new Map(Object.entries(ranges).map(([name, { low, high }]) => [name, `${low}~${high}`]))));
  return [ranges, set];
}

function rangesOf(text: string): Ranges {
  const found = [...pairsOf(text)].flatMap(([name, range]) => {
    const [low, high] = range.split("~").map(Number);
    return low !== undefined && high !== undefined && low <= high ? [[name, { low, high }] as const] : [];
  });
  return Object.fromEntries(found);
}
