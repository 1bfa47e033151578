// SPDX-License-Identifier: Apache-2.0
// The charts: fed with every curve's columns, given new points without being made anew, and marked where resumed.
import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import type uPlot from "uplot";
import { beforeEach, expect, it, vi } from "vitest";

import { type Curves as CurvesData, type KeyedPoint, NO_CURVES, mergePoints } from "@/lib/series";

import { Curves } from "./Curves";

const drawn = vi.hoisted(() => ({ options: [] as uPlot.Options[], data: [] as uPlot.AlignedData[] }));

vi.mock("uplot", () => ({
  default: class {
    constructor(options: uPlot.Options) {
      drawn.options.push(options);
    }
    setData(data: uPlot.AlignedData) {
      drawn.data.push(data);
    }
    setSize() {
      // Nothing is laid out here.
    }
    destroy() {
      // Nothing was made.
    }
  },
}));

beforeEach(() => {
  drawn.options = [];
  drawn.data = [];
});

function point(key: string, step: number, value: number): KeyedPoint {
  return { key, step, value, epoch: 1, at: "2026-01-01T00:00:00Z", attempt_number: 1 };
}

const curves = mergePoints(NO_CURVES, [point("train/loss", 1, 0.9), point("eval/loss", 2, 0.8), point("lr", 1, 0.01)]);

function page(data: CurvesData) {
  return (
    <MantineProvider>
      <Curves curves={data} marks={[{ step: 2, label: "#2" }]} />
    </MantineProvider>
  );
}

/** A browser that can draw. */
function withCanvas() {
  vi.stubGlobal("Path2D", Object);
  const context = {} as CanvasRenderingContext2D;
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation((() => context) as never);
}

it("draws training and evaluation of a metric into one chart, and adds points without making it anew", () => {
  withCanvas();
  const { rerender } = render(page(curves));
  expect(drawn.options.map(({ series }) => series.map(({ label }) => label))).toEqual([
    ["step", "train/loss", "eval/loss"],
    ["step", "lr"],
  ]);
  expect(drawn.data[0]).toEqual([
    [1, 2],
    [0.9, null],
    [null, 0.8],
  ]);
  rerender(page(mergePoints(curves, [point("train/loss", 3, 0.5)])));
  expect(drawn.options).toHaveLength(2);
  expect(drawn.data).toContainEqual([
    [1, 2, 3],
    [0.9, null, 0.5],
    [null, 0.8, null],
  ]);
});

it("marks where an attempt resumed", () => {
  withCanvas();
  render(page(curves));
  const context = { fillText: vi.fn(), moveTo: vi.fn(), lineTo: vi.fn() };
  const silent = Object.fromEntries(
    ["save", "restore", "beginPath", "stroke", "setLineDash"].map((name) => [name, vi.fn()]),
  );
  const plot = {
    ctx: { ...silent, ...context },
    bbox: { left: 0, top: 10, width: 100, height: 50 },
    scales: { x: { min: 0, max: 10 } },
    valToPos: (step: number) => step * 10,
  };
  const draw = drawn.options[0]?.hooks?.draw?.[0];
  draw?.(plot as unknown as uPlot);
  expect(context.moveTo).toHaveBeenCalledWith(20, 10);
  expect(context.lineTo).toHaveBeenCalledWith(20, 60);
  expect(context.fillText.mock.calls[0]?.[0]).toBe("#2");
});

it("gives the latest values as a table where nothing can be drawn", () => {
  vi.stubGlobal("Path2D", undefined);
  render(page(curves));
  expect(drawn.options).toEqual([]);
  expect(screen.getByRole("row", { name: "train/loss 0.9 1 0.9 0.9" })).toBeInTheDocument();
});
