// SPDX-License-Identifier: Apache-2.0
// The chart: fed with every curve's columns and with new points without being made anew; dragging asks for a range.
import { MantineProvider } from "@mantine/core";
import { render } from "@testing-library/react";
import type uPlot from "uplot";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { type Curves, type KeyedPoint, NO_CURVES, mergePoints } from "@/lib/curves/series";

import { CurveChart } from "./CurveChart";

const drawn = vi.hoisted(() => ({ options: [] as uPlot.Options[], data: [] as uPlot.AlignedData[] }));

vi.mock("uplot", () => ({
  default: class {
    constructor(options: uPlot.Options, data: uPlot.AlignedData) {
      drawn.options.push(options);
      drawn.data.push(data);
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
  vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame"] });
  drawn.options = [];
  drawn.data = [];
});

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

function point(key: string, step: number, value: number): KeyedPoint {
  return { key, step, value, epoch: 1, at: "2026-01-01T00:00:00Z", attempt_number: 1 };
}

const curves = mergePoints(NO_CURVES, [point("train/loss", 1, 0.9), point("eval/loss", 2, 0.8)]);

const onRange = vi.fn();

function chart(data: Curves) {
  return (
    <MantineProvider>
      <CurveChart
        labels={["train/loss", "eval/loss"]}
        curves={data}
        marks={[{ step: 2, label: "#2" }]}
        onRange={onRange}
      />
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
  const { rerender } = render(chart(curves));
  expect(drawn.options.map(({ series }) => series.map(({ label }) => label))).toEqual([
    ["step", "train/loss", "eval/loss"],
  ]);
  expect(drawn.data[0]).toEqual([
    [1, 2],
    [0.9, null],
    [null, 0.8],
  ]);
  rerender(chart(mergePoints(curves, [point("train/loss", 3, 0.5)])));
  vi.runAllTimers(); // charts are drawn in turn
  expect(drawn.options).toHaveLength(1);
  expect(drawn.data).toContainEqual([
    [1, 2, 3],
    [0.9, null, 0.5],
    [null, 0.8, null],
  ]);
});

it("marks where an attempt resumed", () => {
  withCanvas();
  render(chart(curves));
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

it("asks for the range of steps that was dragged, and for the whole curve on a double click", () => {
  withCanvas();
  render(chart(curves));
  const plot = { select: { left: 20, width: 50 }, posToVal: (px: number) => px / 10 + 0.3, setSelect: vi.fn() };
  drawn.options[0]?.hooks?.setSelect?.[0]?.(plot as unknown as uPlot);
  expect(onRange).toHaveBeenLastCalledWith({ first: 2, last: 8 });
  const bind = drawn.options[0]?.cursor?.bind?.dblclick;
  bind?.(undefined as never, document.body, () => null)?.({} as MouseEvent);
  expect(onRange).toHaveBeenLastCalledWith(null);
});

it("draws nothing where nothing can be drawn", () => {
  vi.stubGlobal("Path2D", undefined);
  render(chart(curves));
  expect(drawn.options).toEqual([]);
});

it("smooths what it draws, and leaves gaps where a logarithmic scale has no place", () => {
  withCanvas();
  const points = mergePoints(NO_CURVES, [point("a", 1, 0), point("a", 2, 8)]);
  const shown = (smoothing: number, isLog: boolean) => (
    <MantineProvider>
      <CurveChart labels={["a"]} curves={points} marks={[]} smoothing={smoothing} isLog={isLog} />
    </MantineProvider>
  );
  const { rerender } = render(shown(0.5, false));
  expect(drawn.data.at(-1)).toEqual([[1, 2], [0, 16 / 3]]);
  rerender(shown(0, true));
  vi.runAllTimers();
  expect(drawn.data.at(-1)).toEqual([[1, 2], [null, 8]]);
  expect(drawn.options.at(-1)?.scales?.["y"]).toMatchObject({ distr: 3 });
});

it("is drawn in its turn where there are several, with what came meanwhile, and can be saved from then on", () => {
  withCanvas();
  const ref = vi.fn();
  const two = (data: Curves) => (
    <MantineProvider>
      <CurveChart labels={["train/loss"]} curves={data} marks={[]} />
      <CurveChart ref={ref} labels={["train/loss"]} curves={data} marks={[]} />
    </MantineProvider>
  );
  const { rerender, unmount } = render(two(curves));
  expect(drawn.options).toHaveLength(1);
  expect(ref).not.toHaveBeenCalled();
  rerender(two(mergePoints(curves, [point("train/loss", 3, 0.5)])));
  vi.runAllTimers();
  expect(drawn.options).toHaveLength(2);
  expect(drawn.data.slice(1)).toEqual([
    [[1, 3], [0.9, 0.5]],
    [[1, 3], [0.9, 0.5]],
  ]);
  expect(ref).toHaveBeenLastCalledWith(expect.any(HTMLDivElement));
  unmount();
  expect(ref).toHaveBeenLastCalledWith(null);
});

it("is not drawn any more when it is gone before its turn", () => {
  withCanvas();
  const two = (isThere: boolean) => (
    <MantineProvider>
      <CurveChart labels={["train/loss"]} curves={curves} marks={[]} />
      {isThere && <CurveChart labels={["eval/loss"]} curves={curves} marks={[]} />}
    </MantineProvider>
  );
  const { rerender } = render(two(true));
  rerender(two(false));
  vi.runAllTimers();
  expect(drawn.options).toHaveLength(1);
});
