// SPDX-License-Identifier: Apache-2.0
// Charts in turn: the first at once, then one a frame; what was taken back is not drawn, what is asked again keeps its turn.
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { inTurn } from "./inTurn";

beforeEach(() => void vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame"] }));

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

it("draws one a frame, in the order that they came in, and the next one at once when all were drawn", () => {
  const drawn: string[] = [];
  const first = () => void drawn.push("first");
  const second = () => void drawn.push("second");
  const third = () => void drawn.push("third");
  inTurn(first);
  inTurn(second);
  inTurn(third);
  inTurn(second);
  expect(drawn).toEqual(["first"]);
  vi.advanceTimersToNextFrame();
  expect(drawn).toEqual(["first", "second"]);
  vi.advanceTimersToNextFrame();
  vi.advanceTimersToNextFrame();
  vi.advanceTimersToNextFrame();
  expect(drawn).toEqual(["first", "second", "third"]);
  inTurn(first);
  expect(drawn).toEqual(["first", "second", "third", "first"]);
});

it("does not draw what was taken back, and goes on after a fault", () => {
  const drawn: string[] = [];
  inTurn(() => void drawn.push("a"));
  const takeBack = inTurn(() => void drawn.push("b"));
  inTurn(() => {
    throw new Error("no canvas");
  });
  inTurn(() => void drawn.push("d"));
  takeBack();
  expect(() => vi.advanceTimersToNextFrame()).toThrow("no canvas");
  vi.advanceTimersToNextFrame();
  expect(drawn).toEqual(["a", "d"]);
});
