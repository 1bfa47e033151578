// SPDX-License-Identifier: Apache-2.0
// Many lines on a canvas: some in each frame, all of them in the end, from the start when the chart is drawn again.
import type uPlot from "uplot";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { linesInParts } from "./linesInParts";

const LINES = Array.from({ length: 100 }, (_, n) => ({ colour: `c${String(n)}`, width: 1, x: [1, 2, 3], y: [n, null, n + 1] }));
let stroked: { colour: string; points: [number, number][] }[] = [];

class RecordedPath {
  points: [number, number][] = [];
  lineTo(x: number, y: number) {
    this.points.push([x, y]);
  }
}

beforeEach(() => {
  stroked = [];
  vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame"] });
  vi.stubGlobal("Path2D", RecordedPath);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function plot(): uPlot {
  const ctx = {
    strokeStyle: "",
    save: () => undefined,
    restore: () => undefined,
    beginPath: () => undefined,
    rect: () => undefined,
    clip: () => undefined,
    stroke: ({ points }: RecordedPath) => stroked.push({ colour: ctx.strokeStyle, points }),
  };
  return { ctx, bbox: {}, valToPos: (value: number, scale: string) => (scale === "x" ? 10 * value : -value) } as never;
}

it("draws some lines in each frame until all are there, each over its gaps", () => {
  linesInParts(LINES).draw(plot());
  expect(stroked.length).toBeGreaterThan(0);
  expect(stroked.length).toBeLessThan(100);
  vi.runAllTimers();
  expect(stroked.map(({ colour }) => colour)).toEqual(LINES.map(({ colour }) => colour));
  expect(stroked[7]?.points).toEqual([[10, -7], [30, -8]]);
});

it("begins again when the chart is drawn again, and draws no more once it is gone", () => {
  const parts = linesInParts(LINES);
  const drawn = plot();
  parts.draw(drawn);
  parts.draw(drawn);
  const nBefore = stroked.length;
  vi.runAllTimers();
  expect(stroked.length).toBe(nBefore / 2 + 100);
  parts.draw(drawn);
  parts.stop();
  const nStopped = stroked.length;
  vi.runAllTimers();
  expect(stroked.length).toBe(nStopped);
});
