// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";

import { allowsLog, scaleOf, shareOf, suitsLog, ticksOf, valueAt } from "./scale";

it("takes a logarithmic axis for what spans more than two decades, and only for what is above zero", () => {
  expect(suitsLog([1e-5, null, 0.1])).toBe(true);
  expect(suitsLog([0.001, 0.1])).toBe(false); // two decades
  expect(suitsLog([0, 0.1, 1000])).toBe(false);
  expect(suitsLog([])).toBe(false);
  expect(allowsLog([1, 2])).toBe(true);
  expect(allowsLog([-1, 2])).toBe(false);
  expect(allowsLog([3, 3, null])).toBe(false);
  expect(scaleOf([0, 1000], true)).toEqual({ low: 0, high: 1000, isLog: false });
});

it.each([
  [scaleOf([1e-4, 1], true), 0.01, 0.5],
  [scaleOf([-2, 2], false), 1, 0.75],
  [scaleOf([-1.7e308, 1.7e308], false), 0, 0.5],
])("finds the place of a value, and the value of a place: %o", (scale, value, share) => {
  expect(shareOf(scale, value)).toBeCloseTo(share, 9);
  expect(valueAt(scale, share)).toBeCloseTo(value, 9);
  expect([valueAt(scale, 0), valueAt(scale, 1)]).toEqual([scale.low, scale.high]);
});

it("has round places on both kinds of axes", () => {
  expect(ticksOf(scaleOf([2e-5, 0.3], true), 5)).toEqual([1e-4, 1e-3, 1e-2, 0.1]);
  expect(ticksOf(scaleOf([20, 90], true), 5)).toEqual([20, 50]);
  expect(ticksOf(scaleOf([1, 1e12], true), 4)).toEqual([1, 1e4, 1e8, 1e12]);
  expect(ticksOf(scaleOf([0, 10], false), 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticksOf(scaleOf([5, 5], false), 5)).toEqual([]);
});
