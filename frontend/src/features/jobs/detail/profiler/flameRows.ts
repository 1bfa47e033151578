// SPDX-License-Identifier: Apache-2.0
// Where the rows of a flame chart are on its canvas, and in which colour a span is.
import { colourOf } from "@/components/chart/colours";

import type { Lane, Span } from "./flame";

export const ROW = 17; // pixels
const MOST_ROWS = 600; // a canvas of more is not drawn by every browser
const N_COLOURS = 24;

/** A row at y; row null: the label of the lane below. */
export interface Place {
  y: number;
  label: string;
  row: Span[] | null;
}

export function placesOf(lanes: readonly Lane[]): Place[] {
  const places: Place[] = [];
  for (const { label, rows } of lanes) {
    if (places.length + rows.length + 1 > MOST_ROWS) break;
    for (const row of [null, ...rows]) places.push({ y: places.length * ROW, label, row });
  }
  return places;
}

const known = new Map<string, number>();

/** The same for all spans of a name, whatever the trace. */
export function spanColour(name: string, scheme: "light" | "dark"): string {
  let index = known.get(name);
  if (index === undefined) {
    index = 0;
    for (let place = 0; place < name.length; place += 1) index = (index * 31 + name.charCodeAt(place)) % 65_521;
    index %= N_COLOURS;
    known.set(name, index);
  }
  return colourOf(index, scheme);
}
