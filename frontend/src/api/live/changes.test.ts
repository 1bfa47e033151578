// SPDX-License-Identifier: Apache-2.0
// How often what changes all the time is read again, and which reports of the stream count.
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { changeKindsOf, MIN_BETWEEN_MS, settled } from "./changes";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("reads at once, and of many changes that follow only once more, after the last of them", () => {
  const read = vi.fn();
  const { ask } = settled(read);
  ask();
  expect(read).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 20; i++) ask();
  vi.advanceTimersByTime(MIN_BETWEEN_MS - 1);
  expect(read).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  expect(read).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(10 * MIN_BETWEEN_MS);
  expect(read).toHaveBeenCalledTimes(2);
});

it("passes over kinds of a newer server, and what is no list", () => {
  expect(changeKindsOf(["run", "weather", "build"])).toEqual(["run", "build"]);
  expect(changeKindsOf("run")).toEqual([]);
});
