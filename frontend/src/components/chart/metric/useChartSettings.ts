// SPDX-License-Identifier: Apache-2.0
// How all charts of a page draw their curves, and which steps of them; kept in the address.
import { useMemo } from "react";

import { useSetting } from "@/components/chart/address/useSetting";
import type { StepRange } from "@/lib/curves/series";

export interface ChartSettings {
  /** Of the moving average, 0 (none) to below 1. */
  smoothing: number;
  isLog: boolean;
}

const MOST_SMOOTHING = 0.99;

export function useChartSettings(): [ChartSettings, (change: Partial<ChartSettings>) => void] {
  const [smooth, setSmooth] = useSetting("smooth", "0");
  const [log, setLog] = useSetting("log", "");
  const smoothing = Math.min(MOST_SMOOTHING, Math.max(0, Number(smooth) || 0));
  const settings = useMemo(() => ({ smoothing, isLog: log === "1" }), [smoothing, log]);
  function change(to: Partial<ChartSettings>) {
    if (to.smoothing !== undefined) setSmooth(String(to.smoothing));
    if (to.isLog !== undefined) setLog(to.isLog ? "1" : "");
  }
  return [settings, change];
}

/** Of all charts of the page, as "100~900"; null: the whole curves. */
export function useStepRange(): [StepRange | null, (range: StepRange | null) => void] {
  const [text, setText] = useSetting("steps", "");
  const range = useMemo(() => rangeOf(text), [text]);
  return [range, (next) => setText(next === null ? "" : `${next.first}~${next.last}`)];
}

function rangeOf(text: string): StepRange | null {
  const [first, last] = /^(\d+)~(\d+)$/.exec(text)?.slice(1).map(Number) ?? [];
  return first !== undefined && last !== undefined && first <= last ? { first, last } : null;
}
