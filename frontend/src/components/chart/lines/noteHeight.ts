// SPDX-License-Identifier: Apache-2.0
// The height of the words below a chart of many lines, kept free where there are none: a small chart has one line of them, which
// fits; the hint of a large one takes two on a narrow screen.
export function noteHeight(isSmall: boolean): number | { base: number; sm: number } {
  return isSmall ? 18 : { base: 36, sm: 18 };
}
