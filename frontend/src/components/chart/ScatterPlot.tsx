// SPDX-License-Identifier: Apache-2.0
// Points of two quantities, each named when one points at it; axes are linear or logarithmic.
import { t } from "@lingui/core/macro";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type Ref, memo, useMemo } from "react";

import { number } from "@/lib/quantities";

import { type Scale, shareOf, ticksOf } from "./scale";
import { useGradually } from "./useGradually";

interface ScatterPoint {
  id: string;
  label: string;
  colour: string;
  isEmphasised?: boolean;
  x: number;
  y: number;
}

interface Props {
  points: readonly ScatterPoint[];
  xLabel: string;
  yLabel: string;
  xScale: Scale;
  yScale: Scale;
  /** The drawing, to make a picture of. */
  drawing?: Ref<SVGSVGElement>;
}

const MOST_WIDTH = 860;
const USUAL_WIDTH = 640; // until it is measured
const HEIGHT = 340;
const LEFT = 76;
const BOTTOM = HEIGHT - 40;
const TOP = 16;
const RIGHT = 16; // of the frame
const INSET = 10; // of the outermost points from the axes
const TICK_PX = 80;
const LETTER_PX = 6.6;
const INK = { light: { text: "#495057", grid: "#e9ecef" }, dark: { text: "#c9c9c9", grid: "#3b3b3b" } };

export function ScatterPlot({ points, xLabel, yLabel, xScale, yScale, drawing }: Props) {
  const { ref: frame, width: measured } = useElementSize<HTMLDivElement>();
  const ink = INK[useComputedColorScheme("light")];
  const width = measured > 0 ? Math.min(measured, MOST_WIDTH) : USUAL_WIDTH;
  const right = width - RIGHT;
  const { x, y } = placesIn(width, xScale, yScale);
  const placed = useMemo(() => {
    const { x: across, y: up } = placesIn(width, xScale, yScale);
    const inOrder = [...points.filter(({ isEmphasised }) => !isEmphasised), ...points.filter(({ isEmphasised }) => isEmphasised)];
    return inOrder.map((point) => ({
      ...point,
      cx: across(point.x),
      cy: up(point.y),
      title: `${point.label}: ${xLabel} ${number(point.x)}, ${yLabel} ${number(point.y)}`,
    }));
  }, [points, width, xScale, yScale, xLabel, yLabel]);
  const groups = useGradually(placed);
  return (
    <div ref={frame}>
      <svg
        ref={drawing}
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        style={{ display: "block", maxWidth: "100%" }}
        role="img"
        aria-label={t`${yLabel} of ${points.length} jobs by ${xLabel}`}
      >
        <g fill={ink.text} fontSize={11} fontFamily="Inter, system-ui, sans-serif">
          {placesOf(xScale, (right - LEFT) / TICK_PX).map((value) => (
            <g key={value} transform={`translate(${x(value)} 0)`}>
              <line y1={TOP} y2={BOTTOM} stroke={ink.grid} />
              <text y={BOTTOM + 14} textAnchor="middle">
                {number(value)}
              </text>
            </g>
          ))}
          {placesOf(yScale, (BOTTOM - TOP) / (TICK_PX / 2)).map((value) => (
            <g key={value} transform={`translate(0 ${y(value)})`}>
              <line x1={LEFT} x2={right} stroke={ink.grid} />
              <text x={LEFT - 6} y={4} textAnchor="end">
                {number(value)}
              </text>
            </g>
          ))}
          <text x={(LEFT + right) / 2} y={BOTTOM + 32} textAnchor="middle" fontWeight={600}>
            {cut(xLabel, right - LEFT)}
          </text>
          <text transform={`translate(14 ${(TOP + BOTTOM) / 2}) rotate(-90)`} textAnchor="middle" fontWeight={600}>
            {cut(yLabel, BOTTOM - TOP)}
          </text>
        </g>
        {groups.map((group, index) => (
          <PointGroup key={index} group={group} radius={points.length > 200 ? 3 : 5} ring={ink.text} />
        ))}
      </svg>
    </div>
  );
}

interface PlacedPoint extends ScatterPoint {
  cx: number;
  cy: number;
  title: string;
}

const PointGroup = memo(function PointGroup({ group, radius, ring }: { group: readonly PlacedPoint[]; radius: number; ring: string }) {
  return group.map(({ id, cx, cy, colour, isEmphasised, title }) => (
    <circle
      key={id}
      cx={cx}
      cy={cy}
      r={isEmphasised ? 8 : radius}
      fill={colour}
      fillOpacity={isEmphasised ? 1 : 0.8}
      {...(isEmphasised && { stroke: ring, strokeWidth: 2 })}
    >
      <title>{title}</title>
    </circle>
  ));
});

function placesIn(width: number, xScale: Scale, yScale: Scale) {
  const right = width - RIGHT;
  return {
    x: (value: number) => LEFT + INSET + shareOf(xScale, value) * (right - LEFT - 2 * INSET),
    y: (value: number) => BOTTOM - INSET - shareOf(yScale, value) * (BOTTOM - TOP - 2 * INSET),
  };
}

/** Where there is one value only, that one. */
function placesOf(scale: Scale, n: number): number[] {
  return scale.low === scale.high ? [scale.low] : ticksOf(scale, Math.max(2, Math.floor(n)));
}

function cut(text: string, room_px: number): string {
  const most = Math.floor(room_px / LETTER_PX);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
