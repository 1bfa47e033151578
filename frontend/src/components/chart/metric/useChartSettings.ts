// SPDX-License-Identifier: Apache-2.0
// How all charts of a page draw their curves.
import { useMemo, useState } from "react";

export interface ChartSettings {
  /** Of the moving average, 0 (none) to below 1. */
  smoothing: number;
  isLog: boolean;
}

export function useChartSettings(): [ChartSettings, (change: Partial<ChartSettings>) => void] {
  const [smoothing, setSmoothing] = useState(0);
  const [isLog, setLog] = useState(false);
  const settings = useMemo(() => ({ smoothing, isLog }), [smoothing, isLog]);
  function change(to: Partial<ChartSettings>) {
    if (to.smoothing !== undefined) setSmoothing(to.smoothing);
    if (to.isLog !== undefined) setLog(to.isLog);
  }
  return [settings, change];
}
