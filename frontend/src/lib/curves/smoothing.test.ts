// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";

import { aligned, envelope, interpolated, smoothed } from "./smoothing";

it("smooths without pulling the start towards zero, and leaves gaps", () => {
  expect(smoothed([4, 4, 4], 0.9).map((value) => value?.toFixed(9))).toEqual(["4.000000000", "4.000000000", "4.000000000"]);
  expect(smoothed([0, null, 10], 0.5)).toEqual([0, null, 20 / 3]);
  expect(smoothed([1, NaN, 1], 0.5)).toEqual([1, null, 1]);
  expect(smoothed([1, 5], 0)).toEqual([1, 5]);
});

it("keeps every point of few lines, and puts many on one grid", () => {
  expect(aligned([{ x: [1, 3], y: [10, 30] }, { x: [2], y: [5] }])).toEqual([[1, 2, 3], [10, null, 30], [null, 5, null]]);
  const many = Array.from({ length: 30 }, (_, n) => ({ x: [0, 10 + n], y: [0, 10 + n] }));
  const [grid, first, ...others] = aligned(many);
  expect(grid).toHaveLength(500);
  expect(others).toHaveLength(29);
  expect(first?.filter((value) => value !== null).every((value, n) => Math.abs(value - (grid[n] ?? 0)) < 1e-9)).toBe(true);
  expect(first?.at(-1)).toBeNull(); // it ended before the others
});

it("reads between points, and not beyond the ends", () => {
  expect(interpolated({ x: [0, 10], y: [0, 5] }, [-1, 0, 4, 10, 11])).toEqual([null, 0, 2, 5, null]);
});

it("has the lowest and the highest value of many lines wherever one of them is", () => {
  const many = Array.from({ length: 30 }, (_, n) => ({ x: [0, 10 + n], y: [n, n] }));
  const [grid, low, high] = envelope([...many, { x: [5, 6], y: [null, 99] }]);
  const columns = aligned([...many, { x: [5, 6], y: [null, 99] }]).slice(1);
  const there = grid.map((_, place) => columns.flatMap((column) => column[place] ?? []));
  expect(grid).toEqual(aligned(many)[0]);
  expect(low).toEqual(there.map((values) => Math.min(...values)));
  expect(high).toEqual(there.map((values) => Math.max(...values)));
  expect(envelope([{ x: [], y: [] }])).toEqual([[], [], []]);
});
