// SPDX-License-Identifier: Apache-2.0
// Parallel coordinates: which lines ranges keep, and how ranges are made with the keyboard and the pointer.
import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { useState } from "react";
import { beforeEach, expect, it, vi } from "vitest";

import { scaleOf } from "@/components/chart/scale";

import { ParallelCoordinates } from "./ParallelCoordinates";
import { type Ranges, keptBy, stepped, withEnd } from "./ranges";

const LRS = [0.001, 0.01, 0.1];
const AXES = [
  { name: "lr", scale: scaleOf(LRS, true), allowsLog: true },
  { name: "optimizer", scale: scaleOf([0, 1], false), options: ["adam", "sgd"] },
];
const LINES = LRS.map((lr, n) => ({ id: `job ${n}`, label: `job ${n}`, colour: "red", values: [lr, n === 0 ? 0 : 1] }));

let now: Ranges;

function Chart() {
  const [ranges, setRanges] = useState<Ranges>({});
  function onRanges(next: Ranges) {
    setRanges(next);
    now = next;
  }
  return <ParallelCoordinates axes={AXES} lines={LINES} label="3 lines" ranges={ranges} onRanges={onRanges} />;
}

beforeEach(() => {
  HTMLElement.prototype.setPointerCapture = vi.fn<(id: number) => void>(); // jsdom has none
  now = {};
});

function shown() {
  render(
    <MantineProvider>
      <Chart />
    </MantineProvider>,
  );
  return { user: userEvent.setup(), lr: within(screen.getByRole("group", { name: "lr" })) };
}

it("moves the ends of a range from value to value with the keyboard, says what is kept, and forgets it on Escape", async () => {
  const { user, lr } = shown();
  const lower = lr.getByRole("slider", { name: "lr, lower end" });
  expect(lower).toHaveAccessibleDescription(/Arrow keys move this end/);
  lower.focus();
  await user.keyboard("{ArrowUp}");
  expect(now).toEqual({ lr: { low: 0.01, high: 0.1 } });
  expect(screen.getByRole("status")).toHaveTextContent("2 of 3 lines kept");
  expect(lower).toHaveAttribute("aria-valuetext", "0.01");
  await user.keyboard("{ArrowUp}{ArrowUp}{ArrowUp}");
  expect(now).toEqual({ lr: { low: 0.1, high: 0.1 } }); // never beyond the other end
  await user.tab({ shift: true });
  expect(lr.getByRole("slider", { name: "lr, upper end" })).toHaveFocus();
  await user.keyboard("{Escape}");
  expect(now).toEqual({});
  expect(screen.getByRole("status")).toHaveTextContent("Drag along an axis");
});

it("takes the range away where it leaves out nothing", async () => {
  const { user, lr } = shown();
  lr.getByRole("slider", { name: "lr, upper end" }).focus();
  await user.keyboard("{ArrowDown}");
  expect(now).toEqual({ lr: { low: 0.001, high: 0.01 } });
  await user.keyboard("{End}");
  expect(now).toEqual({});
});

it("names the options of what is no number", () => {
  shown();
  expect(screen.getByRole("slider", { name: "optimizer, upper end" })).toHaveAttribute("aria-valuetext", "sgd");
});

it("writes a long name whole, in two lines, and the ends of an axis beyond its lines", () => {
  const long = "eval/accuracy (first rung)";
  const axes = [...AXES, { name: long, scale: scaleOf([0.5, 0.9], false) }];
  const lines = LINES.map((line) => ({ ...line, values: [...line.values, 0.5] }));
  render(
    <MantineProvider>
      <ParallelCoordinates axes={axes} lines={lines} label="3 lines" ranges={{}} onRanges={vi.fn()} />
    </MantineProvider>,
  );
  const chart = screen.getByRole("img", { name: "3 lines" });
  expect([...chart.querySelectorAll("tspan")].map((line) => line.textContent)).toEqual(["lr", "optimizer", "eval/accuracy (first", "rung)"]);
  const heights = [...chart.querySelectorAll("path")].flatMap((path) => [...(path.getAttribute("d") ?? "").matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y)));
  const height = (text: string) => Number([...chart.querySelectorAll("text")].find(({ textContent }) => textContent === text)?.getAttribute("y"));
  expect(height("adam")).toBeGreaterThan(Math.max(...heights)); // the lowest choice
  expect(height("sgd")).toBeLessThan(Math.min(...heights));
});

it("keeps what one drags along an axis, and a click takes that away", () => {
  const { lr } = shown();
  const axis = screen.getByRole("group", { name: "lr" });
  vi.spyOn(axis, "getBoundingClientRect").mockReturnValue(new DOMRect(0, 0, 28, 200));
  fireEvent.pointerDown(axis, { clientY: 0 });
  fireEvent.pointerMove(axis, { clientY: 50 });
  expect(screen.getByRole("status")).toHaveTextContent("1 of 3 lines kept"); // before it is let go
  expect(now).toEqual({});
  fireEvent.pointerUp(axis, { clientY: 150 });
  expect(now.lr?.low).toBeCloseTo(0.0031623, 6); // a quarter of the axis is half a decade
  expect(now.lr?.high).toBe(0.1);
  const upper = lr.getByRole("slider", { name: "lr, upper end" });
  fireEvent.pointerDown(upper, { clientY: 0 });
  fireEvent.pointerUp(axis, { clientY: 100 }); // the lower end stays
  expect(now.lr?.low).toBeCloseTo(0.0031623, 6);
  expect(now.lr?.high).toBeCloseTo(0.01, 9);
  fireEvent.pointerDown(axis, { clientY: 20 });
  fireEvent.pointerUp(axis, { clientY: 21 });
  expect(now).toEqual({});
});

it("keeps the lines that cross each axis within its range", () => {
  const axes = [{ name: "lr" }, { name: "loss" }];
  const lines = [[0.1, 3], [0.2, 1], [null, 1]].map((values, n) => ({ id: String(n), values }));
  expect([...keptBy(axes, lines, {})]).toEqual(["0", "1", "2"]);
  expect([...keptBy(axes, lines, { loss: { low: 0, high: 2 } })]).toEqual(["1", "2"]);
  expect([...keptBy(axes, lines, { loss: { low: 0, high: 2 }, lr: { low: 0, high: 1 } })]).toEqual(["1"]);
});

it("steps among values, from between them too, and no further than the ends", () => {
  const values = [1, 2, 5, 9];
  expect([stepped(values, 2, 1), stepped(values, 3, 1), stepped(values, 3, -1), stepped(values, 9, 1)]).toEqual([5, 5, 2, 9]);
  expect([stepped(values, 5, -Infinity), stepped(values, 3, Infinity), stepped([], 3, 1)]).toEqual([1, 9, 3]);
  expect(withEnd({ low: 2, high: 5 }, "low", 9, scaleOf(values, false))).toEqual({ low: 5, high: 5 });
  expect(withEnd({ low: 2, high: 9 }, "low", 1, scaleOf(values, false))).toBeNull();
});
