// SPDX-License-Identifier: Apache-2.0
// The part of the x axis that charts of a page show, kept in the address with the axis that it is of: "epoch~2~7.5".
import { useMemo } from "react";

import type { AxisZoom } from "./dragZoom";

import { useSetting } from "../address/useSetting";

const DIGITS = 6; // more than a chart has pixels

/** axis: on another one than the address names, all is shown. */
export function useZoom(name: string, axis: string): [AxisZoom | null, (zoom: AxisZoom | null) => void] {
  const [text, setText] = useSetting(name, "");
  const zoom = useMemo(() => zoomOf(text, axis), [text, axis]);
  return [zoom, (next) => setText(next === null ? "" : [axis, short(next.low), short(next.high)].join("~"))];
}

function short(value: number): string {
  return String(Number(value.toPrecision(DIGITS)));
}

function zoomOf(text: string, axis: string): AxisZoom | null {
  const [of, low = "", high = ""] = text.split("~");
  const ends = { low: Number(low), high: Number(high) };
  const isRead = of === axis && low !== "" && high !== "" && Number.isFinite(ends.low) && Number.isFinite(ends.high);
  return isRead && ends.low < ends.high ? ends : null;
}
