// SPDX-License-Identifier: Apache-2.0
// The chart of many lines: what it hands to uPlot when smoothed, on a logarithmic scale, and with many lines.
import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import type uPlot from "uplot";
import { beforeEach, expect, it, vi } from "vitest";

import { BYTES, SECONDS } from "../axisUnits";
import { colourOf } from "../colours";
import { ManyLines } from "./ManyLines";

const drawn = vi.hoisted(() => ({ options: [] as uPlot.Options[], data: [] as uPlot.AlignedData[] }));

vi.mock("uplot", () => ({
  default: class {
    ctx = { canvas: document.createElement("canvas") };
    constructor(options: uPlot.Options, data: uPlot.AlignedData) {
      drawn.options.push(options);
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
  vi.stubGlobal("Path2D", Object);
  const context = {} as CanvasRenderingContext2D;
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation((() => context) as never);
});

const WHOLE = { zoom: null, onZoom: () => undefined };
const line = (id: string) => ({ id, label: id, x: [1, 2], y: [0, 8] });

function shown(n: number, smoothing: number, isLog: boolean) {
  const lines = Array.from({ length: n }, (_, index) => line(`job ${index}`));
  render(
    <MantineProvider>
      <ManyLines lines={lines} smoothing={smoothing} isLog={isLog} xLabel="Step" {...WHOLE} />
    </MantineProvider>,
  );
}

it("draws the smoothed line, and the raw one faint behind it", () => {
  shown(1, 0.5, false);
  expect(drawn.data[0]).toEqual([[1, 2], [0, 16 / 3], [0, 8]]);
  expect(drawn.options[0]?.series.map(({ alpha }) => alpha)).toEqual([undefined, 1, 0.25]);
});

it("says how it is used in as many lines as a narrow window needs", () => {
  shown(1, 0, false);
  const hint = screen.getByText(/double click to leave/);
  expect(hint).not.toHaveAttribute("data-truncate");
  expect(hint.style.height).toBe("");
});

it("leaves a gap where a logarithmic scale has no place for a value", () => {
  shown(1, 0, true);
  expect(drawn.data[0]).toEqual([[1, 2], [null, 8]]);
  expect(drawn.options[0]?.scales?.["y"]).toMatchObject({ distr: 3 });
});

it("draws a thousand lines by their own points, each once, on a scale of the lowest and the highest", () => {
  vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame"] });
  const paths: [number, number][][] = [];
  class RecordedPath {
    points: [number, number][] = [];
    lineTo(x: number, y: number) {
      this.points.push([x, y]);
    }
  }
  vi.stubGlobal("Path2D", RecordedPath);
  shown(1000, 0, false);
  const nothing = () => undefined;
  const stroke = ({ points }: RecordedPath) => paths.push(points);
  const ctx = { save: nothing, restore: nothing, beginPath: nothing, rect: nothing, clip: nothing, stroke };
  const [draw] = drawn.options[0]?.hooks?.draw ?? [];
  draw?.({ ctx, bbox: {}, valToPos: (value: number) => value } as never);
  vi.runAllTimers();
  vi.useRealTimers();
  expect(paths).toHaveLength(1000);
  expect(paths.every((points) => JSON.stringify(points) === "[[1,0],[2,8]]")).toBe(true);
  const [positions, low, high] = drawn.data[0] ?? [];
  expect([positions.length, drawn.data[0]?.length, drawn.options[0]?.series.length]).toEqual([500, 3, 3]);
  expect([low?.[0], high?.at(-1)]).toEqual([0, 8]);
});

it("draws the emphasised line on top, in the colour of its place, and leaves out what a logarithmic x axis has no place for", () => {
  const lines = [{ ...line("base"), x: [0, 5], place: 3, isEmphasised: true }, line("other")];
  render(
    <MantineProvider>
      <ManyLines lines={lines} smoothing={0} isLog={false} isLogX xLabel="Step" {...WHOLE} />
    </MantineProvider>,
  );
  expect(drawn.data[0]).toEqual([[1, 2, 5], [0, 8, null], [null, null, 8]]);
  const [, other, base] = drawn.options[0]?.series ?? [];
  expect([other?.label, base?.label, base?.width]).toEqual(["other", "base", 3.5]);
  expect(base?.stroke).toBe(colourOf(3, "light"));
  expect(drawn.options[0]?.scales?.["x"]).toMatchObject({ distr: 3 });
});

function textsOf(axis: uPlot.Axis | undefined, ticks: number[], step: number) {
  return typeof axis?.values === "function" ? axis.values({} as uPlot, ticks, 0, 80, step) : [];
}

it("has ticks at round times and round sizes", () => {
  render(
    <MantineProvider>
      <ManyLines lines={[line("pod")]} smoothing={0} isLog={false} xLabel="since the start" xUnit={SECONDS} yUnit={BYTES} isSmall {...WHOLE} />
    </MantineProvider>,
  );
  const [x, y] = drawn.options[0]?.axes ?? [];
  expect(x?.incrs).toContain(900);
  expect(x?.incrs).not.toContain(1000);
  expect(textsOf(x, [0, 900], 900)).toEqual(["0", "15 min"]);
  expect(textsOf(y, [2 ** 30], 2 ** 30)).toEqual(["1 GiB"]);
});

/** The ends of the x axis where the data have these. */
function rangeWithin(made: uPlot.Options | undefined, least: number, most: number) {
  const range = made?.scales?.["x"]?.range as (drawn: unknown, least: number, most: number) => [number, number];
  return range(null, least, most);
}

it.each([
  [{ low: 0, high: 1.5 }, [1, 1.5]],
  [{ low: -3, high: 0.5 }, [1, 2]], // the data begin after it
  [{ low: 1.25, high: 1.5 }, [1.25, 1.5]],
])("keeps a logarithmic axis above zero where the zoom is %j", (zoom, ends) => {
  render(
    <MantineProvider>
      <ManyLines lines={[line("job")]} smoothing={0} isLog={false} isLogX xLabel="Step" zoom={zoom} onZoom={() => undefined} />
    </MantineProvider>,
  );
  expect(rangeWithin(drawn.options[0], 1, 2)).toEqual(ends);
});

it("shows the part of the x axis that it is given, and asks for one that is dragged over and for all of it", () => {
  const asked: unknown[] = [];
  render(
    <MantineProvider>
      <ManyLines lines={[line("job")]} smoothing={0} isLog={false} xLabel="Step" zoom={{ low: 1.25, high: 1.5 }} onZoom={(part) => asked.push(part)} />
    </MantineProvider>,
  );
  const made = drawn.options[0];
  expect(rangeWithin(made, 1, 2)).toEqual([1.25, 1.5]);
  expect(made?.cursor?.drag).toMatchObject({ setScale: false });
  const plot = (width: number) => ({ select: { left: 100, width }, posToVal: (pixel: number) => pixel / 100, setSelect: () => undefined }) as never;
  const [select] = made?.hooks?.setSelect ?? [];
  select?.(plot(2)); // a click
  select?.(plot(50));
  made?.cursor?.bind?.dblclick?.({} as never, {} as never, () => null)?.({} as never);
  expect(asked).toEqual([{ low: 1, high: 1.5 }, null]);
});
