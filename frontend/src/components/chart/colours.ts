// SPDX-License-Identifier: Apache-2.0
// Colours of data: Okabe and Ito's for up to eight lines, which people who see few colours distinguish, then by hue.
const FEW = {
  light: ["#0072b2", "#d55e00", "#007a5a", "#aa3d7f", "#8a6d00", "#1c7ed6", "#5f3dc4", "#495057"],
  dark: ["#56b4e9", "#e69f00", "#2ec4a0", "#e08fbf", "#f0e442", "#74c0fc", "#b197fc", "#ced4da"],
};
/** Of what has no name for the reader. */
export const UNNAMED = { light: "#adb5bd", dark: "#6c6c6c" };
const GOLDEN_ANGLE = 137.508; // degrees: neighbours are never of one hue

export function colourOf(index: number, scheme: "light" | "dark"): string {
  const found = FEW[scheme][index];
  if (found !== undefined) return found;
  return `hsl(${Math.round((index * GOLDEN_ANGLE) % 360)} 60% ${scheme === "light" ? 40 : 65}%)`;
}
