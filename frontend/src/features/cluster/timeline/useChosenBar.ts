// SPDX-License-Identifier: Apache-2.0
// The chosen bar, kept in the address by a GPU that it held and a time when it did: both stay while the window moves on.
import { useCallback, useEffect, useMemo, useRef } from "react";

import { useSetting } from "@/components/chart/address/useSetting";

import type { Bar } from "./rows";

interface ChosenBar {
  /** Undefined: none is chosen, or the window has none there. */
  bar: Bar | undefined;
  /** The time, in milliseconds, of a bar that the address names and the window does not have. */
  missingAt: number | null;
  /** The same function until the timeline is read again. */
  choose: (bar: Bar | undefined) => void;
}

/** since: when the timeline begins. */
export function useChosenBar(bars: readonly Bar[], since: string): ChosenBar {
  const [name, setName] = useSetting("bar", "");
  const latest = useRef(setName); // it is another one after each change of the address
  useEffect(() => {
    latest.current = setName;
  }, [setName]);
  const choose = useCallback((bar: Bar | undefined) => latest.current(bar === undefined ? "" : nameOf(bar, since)), [since]);
  return useMemo(() => {
    const { node, gpu, at } = placeOf(name);
    const atS = (at - Date.parse(since)) / 1000;
    const bar = bars.find((one) => one.node === node && one.firstGpu <= gpu && gpu < one.firstGpu + one.nGpus && one.sinceS <= atS && atS <= one.untilS);
    return { bar, missingAt: bar === undefined && !Number.isNaN(at) ? at : null, choose };
  }, [name, bars, since, choose]);
}

/** Its middle: ends are rounded, and one that is running moves. */
function nameOf({ node, firstGpu, sinceS, untilS }: Bar, since: string): string {
  const at = new Date(Date.parse(since) + 500 * (sinceS + untilS));
  return `${node}~${firstGpu}~${at.toISOString()}`;
}

function placeOf(name: string): { node: string; gpu: number; at: number } {
  const [at = "", gpu = "", ...node] = name.split("~").reverse();
  return { node: node.reverse().join("~"), gpu: Number(gpu), at: Date.parse(at) };
}
