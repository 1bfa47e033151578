// SPDX-License-Identifier: Apache-2.0
// The theme's colours by computed contrast: WCAG AA asks for 4.5 to 1 of text, on both themes.
import { DEFAULT_THEME, defaultCssVariablesResolver, mergeMantineTheme } from "@mantine/core";
import { describe, expect, it } from "vitest";

import { cssVariables, theme } from "@/app/theme";
import { BADGE_COLORS } from "@/domain/states/badgeColor";

const AA = 4.5;
const merged = mergeMantineTheme(DEFAULT_THEME, theme);
const defaults = defaultCssVariablesResolver(merged);
const own = cssVariables(merged);

type Scheme = "light" | "dark";

/** What a CSS variable is in the end, "#rrggbb" or "rgb(...)". */
function colourOf(name: string, scheme: Scheme): string {
  const known: Record<string, string> = { ...defaults.variables, ...defaults[scheme], ...own.variables, ...own[scheme] };
  const value = known[name];
  if (value === undefined) throw new Error(`The theme has no ${name}.`);
  const other = /^var\((--[\w-]+)\)$/.exec(value)?.[1];
  return other === undefined ? value : colourOf(other, scheme);
}

function channels(colour: string): number[] {
  const hex = /^#([0-9a-f]{6})$/i.exec(colour.length === 4 ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour)?.[1];
  if (hex !== undefined) return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const numbers = /^rgba?\(([^)]+)\)$/.exec(colour)?.[1]?.split(/[\s,/]+/).map(Number) ?? [];
  if (numbers.length < 3 || (numbers[3] ?? 1) !== 1) throw new Error(`${colour} is not an opaque colour.`);
  return numbers.slice(0, 3);
}

/** Relative luminance as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(text: string, background: string): number {
  const [light = 0, dark = 0] = [luminance(text), luminance(background)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"] as const)("On the %s theme", (scheme) => {
  it.each(BADGE_COLORS)("a %s badge is read well", (color) => {
    const text = colourOf(`--mantine-color-${color}-light-color`, scheme);
    const background = colourOf(`--mantine-color-${color}-light`, scheme);
    expect(contrast(text, background)).toBeGreaterThanOrEqual(AA);
  });

  it.each(["--mantine-color-text", "--mantine-color-dimmed", "--mantine-color-anchor", "--mantine-color-error", "--mantine-color-red-text"])(
    "%s is read well on the page",
    (name) => {
      expect(contrast(colourOf(name, scheme), colourOf("--mantine-color-body", scheme))).toBeGreaterThanOrEqual(AA);
    },
  );

  it("a link is read well on a row that is chosen", () => {
    const row = colourOf("--mantine-color-default-hover", scheme);
    expect(contrast(colourOf("--mantine-color-anchor", scheme), row)).toBeGreaterThanOrEqual(AA);
  });

  it.each(["--mantine-primary-color-filled", "--mantine-color-red-filled", "--mantine-color-red-filled-hover"])("a filled button is read well: %s", (name) => {
    const background = colourOf(name, scheme);
    expect(contrast(colourOf("--mantine-color-white", scheme), background)).toBeGreaterThanOrEqual(AA);
  });
});

it("knows the contrasts that WCAG gives as examples", () => {
  expect(contrast("#000", "#ffffff")).toBeCloseTo(21);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
});
