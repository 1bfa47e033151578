// SPDX-License-Identifier: Apache-2.0
// One uPlot chart of a few curves by step, with a mark where an attempt resumed. Dragging asks for a range of steps.
import { t } from "@lingui/core/macro";
import { useComputedColorScheme } from "@mantine/core";
import { type RefCallback, useCallback, useEffect, useEffectEvent, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { number } from "@/lib/quantities";
import { type CurvePoint, type Curves, type StepRange, columns } from "@/lib/curves/series";
import { smoothed } from "@/lib/curves/smoothing";

import { CHART_HEIGHT } from "./chartHeight";
import { colourOf } from "./colours";
import classes from "./CurveChart.module.css";
import { dragZoom } from "./zoom/dragZoom";
import { inTurn } from "./inTurn";

/** A vertical mark: where an attempt resumed. */
export interface Mark {
  step: number;
  label: string;
}

interface CurveChartProps {
  /** Gets what is drawn in, once it is drawn; null until then and afterwards. */
  ref?: RefCallback<HTMLDivElement>;
  labels: readonly string[];
  curves: Curves;
  marks: readonly Mark[];
  /** Of the moving average, 0 (none) to below 1. */
  smoothing?: number;
  /** Whether values are on a logarithmic scale, where those that are not above zero are gaps. */
  isLog?: boolean;
  /** A range of steps was dragged; null: the whole curve is wanted again. */
  onRange?: (range: StepRange | null) => void;
}

const INK = {
  light: { text: "#495057", grid: "#e9ecef", mark: "#868e96" },
  dark: { text: "#c9c9c9", grid: "#3b3b3b", mark: "#909090" },
};
const CROSSHAIR = "mlhub-steps";
const NO_POINTS: readonly CurvePoint[] = [];
const LOGARITHMIC: object = { distr: 3 }; // of an enumeration that is there for the compiler only

export function CurveChart({ ref, labels, curves, marks, smoothing = 0, isLog = false, onRange }: CurveChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shown = useRef<{ marks: readonly Mark[]; data: uPlot.AlignedData }>({ marks, data: [[]] });
  const scheme = useComputedColorScheme("light");
  const labelText = labels.join("\n"); // the chart's identity: `labels` is a new array on every render
  const ask = useEffectEvent((range: StepRange | null) => onRange?.(range));
  const drawnIn = useEffectEvent((element: HTMLDivElement | null) => ref?.(element));
  const redraw = useCallback(() => plot.current?.setData(shown.current.data), []); // one, which keeps its turn when more points come
  const data = useMemo(
    () => drawnValues(columns(labelText.split("\n").map((label) => curves.get(label) ?? NO_POINTS)), smoothing, isLog),
    [labelText, curves, smoothing, isLog],
  );

  useEffect(() => {
    shown.current = { marks, data };
    if (plot.current !== null) inTurn(redraw);
  }, [data, marks, redraw]);

  useEffect(() => {
    const element = frame.current;
    if (element === null || !canDraw()) return;
    let leave = () => {};
    const takeBack = inTurn(() => {
      const made = { ...options(labelText.split("\n"), scheme, element.clientWidth, shown), scales: scalesOf(isLog) };
      const created = new uPlot({ ...made, ...dragging((range) => ask(range), made) }, shown.current.data, element);
      plot.current = created;
      const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: CHART_HEIGHT }));
      observer.observe(element);
      drawnIn(element);
      leave = () => {
        observer.disconnect();
        created.destroy();
        plot.current = null;
        drawnIn(null);
      };
    });
    return () => {
      takeBack();
      leave();
    };
  }, [labelText, scheme, isLog]);

  return <div ref={frame} className={classes.frame} aria-hidden="true" />;
}

function scalesOf(isLog: boolean): uPlot.Scales {
  return { x: { time: false }, ...(isLog && { y: LOGARITHMIC }) };
}

/** The columns as they are drawn: the values of each curve smoothed, without what a logarithmic scale has no place for. */
function drawnValues([steps, ...values]: ReturnType<typeof columns>, smoothing: number, isLog: boolean): uPlot.AlignedData {
  const shown = values.map((column) => smoothed(column, smoothing));
  return [steps, ...(isLog ? shown.map((column) => column.map((value) => (value !== null && value > 0 ? value : null))) : shown)];
}

/** False without a canvas, as in tests. */
function canDraw(): boolean {
  return typeof Path2D !== "undefined" && document.createElement("canvas").getContext("2d") !== null;
}

function options(
  labels: string[],
  scheme: "light" | "dark",
  width: number,
  shown: { readonly current: { marks: readonly Mark[] } },
): uPlot.Options {
  const ink = INK[scheme];
  const axis: uPlot.Axis = {
    stroke: ink.text,
    grid: { stroke: ink.grid, width: 1 },
    ticks: { stroke: ink.grid, width: 1 },
    font: "11px Inter, system-ui, sans-serif",
  };
  return {
    width: Math.max(width, 100),
    height: CHART_HEIGHT,
    axes: [{ ...axis }, { ...axis, size: 56 }],
    series: [
      { label: t`step` },
      ...labels.map((label, index) => ({
        label,
        stroke: colourOf(index, scheme),
        width: 1.5,
        spanGaps: true,
        value: (_: uPlot, value: number | null) => (value === null ? "–" : number(value)),
      })),
    ],
    hooks: { draw: [(drawn) => drawMarks(drawn, shown.current.marks, ink.mark)] },
  };
}

/** What makes dragging ask for the range, and a double click for the whole: the points themselves are read anew. */
function dragging(ask: (range: StepRange | null) => void, made: uPlot.Options): Partial<uPlot.Options> {
  const { cursor, setSelect } = dragZoom((zoom) => ask(zoom && { first: Math.max(0, Math.floor(zoom.low)), last: Math.ceil(zoom.high) }));
  return {
    cursor: {
      ...cursor,
      y: false,
      points: { size: 6 },
      sync: { key: CROSSHAIR, setSeries: false }, // of all charts of the page by step
    },
    hooks: { ...made.hooks, setSelect: [setSelect] },
  };
}

function drawMarks(plot: uPlot, marks: readonly Mark[], colour: string): void {
  const { ctx, bbox, scales } = plot;
  const { min, max } = scales["x"] ?? {};
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.textAlign = "left";
  ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
  for (const { step, label } of marks) {
    if (min == null || max == null || step < min || step > max) continue;
    const x = plot.valToPos(step, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(label, x + 3 * devicePixelRatio, bbox.top + 10 * devicePixelRatio);
  }
  ctx.restore();
}
