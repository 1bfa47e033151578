// SPDX-License-Identifier: Apache-2.0
// Ticks are round, within the axis, and not too many.
import { expect, it } from "vitest";

import { timeTicks, valueTicks } from "./ticks";

it("takes round values", () => {
  expect(valueTicks(0.03, 0.97, 4)).toEqual([0.5]);
  expect(valueTicks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(valueTicks(-3, 12, 4)).toEqual([0, 5, 10]);
  expect(valueTicks(1, 1, 4)).toEqual([]);
});

it("takes full minutes and hours", () => {
  const noon = new Date(2026, 2, 2, 12, 0).getTime();
  const found = timeTicks(noon - 90_000, noon + 10 * 60_000, 6);
  expect(found[0]).toBe(noon);
  expect(found.length).toBeLessThanOrEqual(7);
  expect(new Set(found.map((ms) => new Date(ms).getSeconds()))).toEqual(new Set([0]));
});
