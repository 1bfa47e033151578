// SPDX-License-Identifier: Apache-2.0
// Where moments of the timeline lie, as shares of its width.
import type { CSSProperties } from "react";

export function place(atS: number, lengthS: number): string {
  return `${(100 * atS) / lengthS}%`;
}

export function stretch(sinceS: number, untilS: number, lengthS: number): CSSProperties {
  return { left: place(sinceS, lengthS), width: place(Math.max(0, untilS - sinceS), lengthS) };
}
