// SPDX-License-Identifier: Apache-2.0
// Hundreds of shapes come in groups, one more in each frame, and groups that are there stay the same.
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { useGradually } from "./useGradually";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function nextFrame() {
  act(() => {
    vi.advanceTimersToNextFrame();
  });
}

it("shows some things at once and some more in each frame, until all are there", () => {
  const things = Array.from({ length: 1000 }, (_, n) => n);
  const { result } = renderHook(() => useGradually(things));
  const [first] = result.current;
  expect(result.current.flat().length).toBeLessThan(1000);
  nextFrame();
  const nNext = result.current.flat().length;
  expect(nNext).toBe(2 * (first?.length ?? 0));
  for (let frame = 2; frame < 10; frame += 1) nextFrame();
  expect(result.current.flat()).toEqual(things);
  expect(result.current[0]).toBe(first);
});

it("shows a few things at once", () => {
  const few = [1, 2, 3];
  const { result } = renderHook(() => useGradually(few));
  expect(result.current).toEqual([few]);
});
