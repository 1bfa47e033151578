// SPDX-License-Identifier: Apache-2.0
// The ends of a zoomed x axis. One that was zoomed from zero and is made logarithmic begins where the data do.
import type uPlot from "uplot";

import type { AxisZoom } from "./dragZoom";

export function rangeOf({ low, high }: AxisZoom, isLog: boolean): (drawn: uPlot, least: number, most: number) => uPlot.Range.MinMax {
  return (_, least, most) => {
    const begin = isLog && low <= 0 ? least : low;
    return begin < high ? [begin, high] : [least, most];
  };
}
