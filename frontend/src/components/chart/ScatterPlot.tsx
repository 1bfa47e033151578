// SPDX-License-Identifier: Apache-2.0
// Points of two quantities, each named when one points at it.
import { t } from "@lingui/core/macro";
import { useComputedColorScheme } from "@mantine/core";

import { number } from "@/lib/quantities";

interface ScatterPoint {
  id: string;
  label: string;
  colour: string;
  x: number;
  y: number;
}

interface Props {
  points: readonly ScatterPoint[];
  xLabel: string;
  yLabel: string;
}

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 70;
const BOTTOM = HEIGHT - 36;
const TOP = 16;
const RIGHT = WIDTH - 16;

export function ScatterPlot({ points, xLabel, yLabel }: Props) {
  const ink = useComputedColorScheme("light") === "light" ? "#495057" : "#c9c9c9";
  const xs = rangeOf(points.map(({ x }) => x));
  const ys = rangeOf(points.map(({ y }) => y));
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      style={{ width: "100%", maxWidth: WIDTH }}
      role="img"
      aria-label={t`${yLabel} of ${points.length} jobs by ${xLabel}`}
    >
      <g fill={ink} fontSize={11}>
        <line x1={LEFT} x2={RIGHT} y1={BOTTOM} y2={BOTTOM} stroke={ink} />
        <line x1={LEFT} x2={LEFT} y1={TOP} y2={BOTTOM} stroke={ink} />
        <text x={LEFT} y={BOTTOM + 14}>
          {number(xs.low)}
        </text>
        <text x={RIGHT} y={BOTTOM + 14} textAnchor="end">
          {number(xs.high)}
        </text>
        <text x={(LEFT + RIGHT) / 2} y={BOTTOM + 28} textAnchor="middle" fontWeight={600}>
          {xLabel}
        </text>
        <text x={LEFT - 6} y={BOTTOM} textAnchor="end">
          {number(ys.low)}
        </text>
        <text x={LEFT - 6} y={TOP + 8} textAnchor="end">
          {number(ys.high)}
        </text>
        <text transform={`translate(14 ${(TOP + BOTTOM) / 2}) rotate(-90)`} textAnchor="middle" fontWeight={600}>
          {yLabel}
        </text>
      </g>
      {points.map(({ id, label, colour, x, y }) => (
        <circle
          key={id}
          cx={LEFT + share(x, xs) * (RIGHT - LEFT)}
          cy={BOTTOM - share(y, ys) * (BOTTOM - TOP)}
          r={points.length > 200 ? 3 : 5}
          fill={colour}
          fillOpacity={0.8}
        >
          <title>{`${label}: ${xLabel} ${number(x)}, ${yLabel} ${number(y)}`}</title>
        </circle>
      ))}
    </svg>
  );
}

interface Range {
  low: number;
  high: number;
}

function rangeOf(values: readonly number[]): Range {
  if (values.length === 0) return { low: 0, high: 0 };
  return values.reduce<Range>((range, value) => ({ low: Math.min(range.low, value), high: Math.max(range.high, value) }), { low: Infinity, high: -Infinity });
}

/** Where the value is between the ends, 0 to 1; in the middle where all are the same. */
function share(value: number, { low, high }: Range): number {
  return high === low ? 0.5 : (value - low) / (high - low);
}
