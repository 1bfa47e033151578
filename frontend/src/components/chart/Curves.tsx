// SPDX-License-Identifier: Apache-2.0
// Live curves of a job: one uPlot chart per metric, and a table of latest values for keyboards and screen readers.
import { SimpleGrid, Stack, Table, Text, useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { number } from "@/lib/quantities";
import { type CurvePoint, type Curves as CurvesData, columns, groupKeys, summary } from "@/lib/series";

import classes from "./Curves.module.css";

/** A vertical mark: where an attempt resumed. */
export interface Mark {
  step: number;
  label: string;
}

interface CurvesProps {
  curves: CurvesData;
  marks: readonly Mark[];
}

const STROKES = {
  light: ["#4263eb", "#e8590c", "#2b8a3e", "#9c36b5"],
  dark: ["#91a7ff", "#ffa94d", "#69db7c", "#da77f2"],
};
const INK = {
  light: { text: "#495057", grid: "#e9ecef", mark: "#868e96" },
  dark: { text: "#c9c9c9", grid: "#3b3b3b", mark: "#909090" },
};
const HEIGHT = 220;
const NO_POINTS: readonly CurvePoint[] = [];

export function Curves({ curves, marks }: CurvesProps) {
  const keys = [...curves.keys()].sort().join("\n");
  const groups = useMemo(() => groupKeys(keys === "" ? [] : keys.split("\n")), [keys]);
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, md: groups.length > 1 ? 2 : 1 }} spacing="md">
        {groups.map((group) => (
          <Chart key={group.name} name={group.name} labels={group.keys} curves={curves} marks={marks} />
        ))}
      </SimpleGrid>
      <LatestValues keys={groups.flatMap((group) => group.keys)} curves={curves} />
    </Stack>
  );
}

interface ChartProps extends CurvesProps {
  name: string;
  labels: string[];
}

function Chart({ name, labels, curves, marks }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const drawnMarks = useRef(marks);
  const scheme = useComputedColorScheme("light");
  const labelText = labels.join("\n"); // the chart's identity: `labels` is a new array on every render
  const data = useMemo(
    () => columns(labelText.split("\n").map((label) => curves.get(label) ?? NO_POINTS)),
    [labelText, curves],
  );

  useEffect(() => {
    const element = frame.current;
    if (element === null || !canDraw()) return;
    const created = new uPlot(options(labelText.split("\n"), scheme, element.clientWidth, drawnMarks), [[]], element);
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [labelText, scheme]);

  useEffect(() => {
    drawnMarks.current = marks;
    plot.current?.setData(data);
  }, [data, marks, labelText, scheme]);

  return (
    <figure className={classes.figure} aria-label={`Curve of ${name} by step`}>
      <Text component="figcaption" size="sm" fw={600}>
        {name}
      </Text>
      <div ref={frame} className={classes.frame} aria-hidden="true" />
    </figure>
  );
}

/** False without a canvas, as in tests. */
function canDraw(): boolean {
  return typeof Path2D !== "undefined" && document.createElement("canvas").getContext("2d") !== null;
}

function options(
  labels: string[],
  scheme: "light" | "dark",
  width: number,
  marks: { readonly current: readonly Mark[] },
): uPlot.Options {
  const ink = INK[scheme];
  const axis: uPlot.Axis = {
    stroke: ink.text,
    grid: { stroke: ink.grid, width: 1 },
    ticks: { stroke: ink.grid, width: 1 },
    font: "11px system-ui, sans-serif",
  };
  return {
    width: Math.max(width, 100),
    height: HEIGHT,
    scales: { x: { time: false } },
    cursor: { y: false, points: { size: 6 } },
    axes: [{ ...axis }, { ...axis, size: 56 }],
    series: [
      { label: "step" },
      ...labels.map((label, index) => ({
        label,
        stroke: STROKES[scheme][index % STROKES[scheme].length] ?? ink.text,
        width: 1.5,
        spanGaps: true,
        value: (_: uPlot, value: number | null) => (value === null ? "–" : number(value)),
      })),
    ],
    hooks: { draw: [(drawn) => drawMarks(drawn, marks.current, ink.mark)] },
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

function LatestValues({ keys, curves }: { keys: string[]; curves: CurvesData }) {
  return (
    <Table.ScrollContainer minWidth={420} type="native" tabIndex={0} role="region" aria-label="Latest values">
      <Table verticalSpacing={4} captionSide="top">
        <Table.Caption ta="left">Latest value of every metric</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Metric</Table.Th>
            <Table.Th>Latest</Table.Th>
            <Table.Th>Step</Table.Th>
            <Table.Th>Lowest</Table.Th>
            <Table.Th>Highest</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => {
            const values = summary(curves.get(key) ?? NO_POINTS);
            if (values === null) return null;
            return (
              <Table.Tr key={key}>
                <Table.Th scope="row">{key}</Table.Th>
                <Table.Td>{number(values.latest.value)}</Table.Td>
                <Table.Td>{values.latest.step}</Table.Td>
                <Table.Td>{number(values.lowest)}</Table.Td>
                <Table.Td>{number(values.highest)}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
