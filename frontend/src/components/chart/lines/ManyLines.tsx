// SPDX-License-Identifier: Apache-2.0
// One uPlot chart of up to a thousand lines. The line under the pointer is named; the raw line is faint behind a smoothed one.
import { t } from "@lingui/core/macro";
import { Text, useComputedColorScheme } from "@mantine/core";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { number } from "@/lib/quantities";
import { type Line, aligned, envelope, interpolated, smoothed } from "@/lib/curves/smoothing";

import type { AxisUnit } from "../axisUnits";
import { colourOf } from "../colours";
import classes from "../CurveChart.module.css";
import { type AxisZoom, dragZoom } from "../zoom/dragZoom";
import { rangeOf } from "../zoom/rangeOf";
import { lineHighlight } from "./lineHighlight";
import { linesInParts } from "./linesInParts";
import { noteHeight } from "./noteHeight";

export interface NamedLine extends Line {
  id: string;
  label: string;
  /** Whose colour it has; left out: its place among the lines. */
  place?: number;
  /** Drawn thick, on top of the others. */
  isEmphasised?: boolean;
}

interface Props {
  lines: readonly NamedLine[];
  /** 0 to below 1. */
  smoothing: number;
  isLog: boolean;
  /** Whether the x axis is logarithmic; what is not above zero has no place on it. */
  isLogX?: boolean;
  xLabel: string;
  /** Of places on the x axis, and of values; left out: plain numbers. */
  xUnit?: AxisUnit;
  yUnit?: AxisUnit;
  height?: number;
  /** One of several small charts: its x axis has no label, and the values begin at 0. */
  isSmall?: boolean;
  /** The part of the x axis that is shown; null: all of it. */
  zoom: AxisZoom | null;
  /** Another part is wanted, or all of it. */
  onZoom: (zoom: AxisZoom | null) => void;
}

const INK = { light: { text: "#495057", grid: "#e9ecef", page: "#ffffff" }, dark: { text: "#c9c9c9", grid: "#3b3b3b", page: "#242424" } };
const LOGARITHMIC: object = { distr: 3 }; // of an enumeration that is there for the compiler only
const EXACT = (_: uPlot, low: number, high: number): uPlot.Range.MinMax => [low, high]; // not whole decades, most of which would be empty
const FROM_ZERO: uPlot.Scale.Range = { min: { pad: 0, hard: 0, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 0, mode: 2 } };
const NEAR_PX = 30;
const MOST_AT_ONCE = 100; // more lines are drawn in parts, and do not fade behind the one under the pointer: all would be drawn again
const PLAIN: AxisUnit = { text: number };
const NOT_DRAWN: uPlot.Series.PathBuilder = () => null;
const MOST_FAINT = 20; // lines that are also drawn as they are, behind the smoothed ones

export function ManyLines({ lines: given, smoothing, isLog, isLogX = false, xLabel, xUnit = PLAIN, yUnit = PLAIN, height = 420, isSmall = false, zoom, onZoom }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const ask = useEffectEvent(onZoom);
  const scheme = useComputedColorScheme("light");
  const [near, setNear] = useState("");
  const lines = useMemo(() => drawingOrder(given, isLogX), [given, isLogX]);
  const drawnLines = useMemo(() => lines.map((line) => ({ ...line, y: shownOf(smoothed(line.y, smoothing), isLog) })), [lines, smoothing, isLog]);
  const data = useMemo(() => dataOf(lines, drawnLines, smoothing, isLog), [lines, drawnLines, smoothing, isLog]);

  useEffect(() => {
    const element = frame.current;
    if (element === null || typeof Path2D === "undefined" || document.createElement("canvas").getContext("2d") === null) return;
    const { text, grid, page } = INK[scheme];
    const isFew = lines.length <= MOST_AT_ONCE;
    const font = "11px Inter, system-ui, sans-serif";
    const axis: uPlot.Axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font, labelFont: `600 ${font}` };
    const isFaint = smoothing > 0 && lines.length <= MOST_FAINT;
    const named = (line: PlacedLine, alpha: number): uPlot.Series => ({
      label: line.label,
      stroke: colourOf(line.place, scheme),
      alpha,
      width: line.isEmphasised ? 3.5 : lines.length > 50 ? 1 : 1.6,
      spanGaps: true,
      points: { show: false },
    });
    const edge: uPlot.Series = { points: { show: false }, paths: NOT_DRAWN };
    const parts = linesInParts(
      isFew ? [] : drawnLines.map(({ x, y, place, isEmphasised }) => ({ x, y, colour: colourOf(place, scheme), width: isEmphasised ? 3.5 : 1 })),
    );
    const dragged = dragZoom((part) => ask(part));
    const range = zoom === null ? isLogX && { range: EXACT } : { range: rangeOf(zoom, isLogX) };
    const shown: { highlight?: ReturnType<typeof lineHighlight> } = {}; // from when the chart is made
    const created = new uPlot(
      {
        width: Math.max(element.clientWidth, 100),
        height,
        scales: { x: { time: false, ...(isLogX && LOGARITHMIC), ...range }, y: isLog ? LOGARITHMIC : { ...(isSmall && { range: FROM_ZERO }) } },
        axes: [
          {
            ...axis,
            ...(isSmall ? { size: 26 } : { label: xLabel, labelSize: 18 }),
            ...ticksOf(isLogX ? { text: xUnit.text } : xUnit, { space: 80 }),
          },
          { ...axis, size: 60, ...ticksOf(yUnit, { size: 84 }) },
        ],
        legend: { show: false },
        focus: { alpha: 0.25 },
        cursor: { ...dragged.cursor, ...(isFew && { focus: { prox: NEAR_PX } }), points: { show: false } },
        series: [
          { label: xLabel },
          ...(isFew ? lines.map((line) => named(line, 1)) : [edge, edge]),
          ...(isFaint ? lines.map((line) => named(line, 0.25)) : []),
        ],
        hooks: {
          setCursor: [
            (drawn) => {
              const found = nearest(drawn, valuesAt(drawn.cursor.idx, drawnLines, data));
              const line = found === null ? undefined : drawnLines[found.index];
              setNear(line === undefined || found === null ? "" : nearText(drawn, line, found.value, xUnit, yUnit));
              if (!isFew) shown.highlight?.(line ?? null, { line: colourOf(line?.place ?? 0, scheme), halo: page });
            },
          ],
          setSelect: [dragged.setSelect],
          setScale: [() => shown.highlight?.(null, { line: "", halo: "" })],
          ...(!isFew && { draw: [parts.draw] }),
        },
      },
      data,
      element,
    );
    shown.highlight = lineHighlight(created);
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      parts.stop();
      created.destroy();
    };
  }, [data, lines, drawnLines, scheme, isLog, isLogX, smoothing, xLabel, xUnit, yUnit, height, isSmall, zoom]);

  return (
    <div>
      <div ref={frame} className={classes.frame} style={{ minHeight: height }} aria-hidden="true" />
      <Text size="xs" c="dimmed" mih={noteHeight(isSmall)} lineClamp={2} data-no-picture>
        {near || (isSmall ? "" : t`Point at a line to see whose it is; drag to zoom, double click to leave.`)}
      </Text>
    </div>
  );
}

/** Ticks of that unit, with what their longer texts need; of plain numbers as uPlot has them. */
function ticksOf({ text, tick = text, steps }: AxisUnit, room: uPlot.Axis): uPlot.Axis {
  if (tick === number) return {};
  // a logarithmic scale leaves out texts that have no room
  const values: uPlot.Axis.DynamicValues = (_, ticks: (number | null)[], _axis, _space, step) => ticks.map((at) => (at === null ? "" : tick(at, step)));
  return { ...room, ...(steps && { incrs: steps }), values };
}

type PlacedLine = NamedLine & { place: number };

/** What is emphasised comes last, on top of the others; positions that have no place on the x axis are gone. */
function drawingOrder(lines: readonly NamedLine[], isLogX: boolean): PlacedLine[] {
  const placed = lines.map((line, index): PlacedLine => {
    if (!isLogX) return { ...line, place: line.place ?? index };
    const first = line.x.findIndex((at) => at > 0); // they rise
    const from = first < 0 ? line.x.length : first;
    return { ...line, x: line.x.slice(from), y: line.y.slice(from), place: line.place ?? index };
  });
  return [...placed.filter(({ isEmphasised }) => !isEmphasised), ...placed.filter(({ isEmphasised }) => isEmphasised)];
}

/** What has no place on a logarithmic scale is a gap. */
function shownOf(y: Line["y"], isLog: boolean): Line["y"] {
  return isLog ? y.map((value) => (value !== null && value > 0 ? value : null)) : y;
}

/** A column a smoothed line, and behind these, where there are few, the lines as they are; of hundreds only what scales need. */
function dataOf(lines: readonly Line[], drawn: readonly Line[], smoothing: number, isLog: boolean): uPlot.AlignedData {
  if (lines.length > MOST_AT_ONCE) return envelope(drawn);
  const columns = aligned(drawn);
  if (smoothing === 0 || lines.length > MOST_FAINT) return columns;
  const raw = aligned(lines.map(({ x, y }) => ({ x, y: shownOf(y, isLog) })));
  return [...columns, ...raw.slice(1)] as uPlot.AlignedData;
}

/** The values of all lines at that place of the chart's positions. */
function valuesAt(idx: number | null | undefined, lines: readonly Line[], data: uPlot.AlignedData): (number | null)[] {
  if (idx == null) return [];
  const at = data[0][idx];
  if (lines.length <= MOST_AT_ONCE) return lines.map((_, index) => data[index + 1]?.[idx] ?? null);
  return lines.map((line) => (at === undefined ? null : (interpolated(line, [at])[0] ?? null)));
}

/** The line that is nearest to the pointer, and its value there; null where none is near. */
function nearest(drawn: uPlot, values: readonly (number | null)[]): { index: number; value: number } | null {
  const { top } = drawn.cursor;
  if (top == null) return null;
  let [best, distance]: [{ index: number; value: number } | null, number] = [null, NEAR_PX];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const away = Math.abs(drawn.valToPos(value, "y") - top);
    if (away < distance) [best, distance] = [{ index, value }, away];
  }
  return best;
}

/** Whose line is under the pointer, and its value there. */
function nearText(
  drawn: uPlot,
  line: PlacedLine,
  value: number,
  xUnit: AxisUnit,
  yUnit: AxisUnit,
): string {
  const { idx } = drawn.cursor;
  if (idx == null) return "";
  const place = drawn.data[0][idx] ?? NaN;
  return t`${line.label}: ${yUnit.text(value)} at ${xUnit.text(place)}`;
}
