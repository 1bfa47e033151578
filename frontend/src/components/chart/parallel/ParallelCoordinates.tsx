// SPDX-License-Identifier: Apache-2.0
// Parallel coordinates: one vertical axis a quantity, one line a thing. Dragging along an axis keeps the lines that cross it there.
import { t } from "@lingui/core/macro";
import { Button, Group, Text, useComputedColorScheme } from "@mantine/core";
import { type PointerEvent, useRef, useState } from "react";

import { number } from "@/lib/quantities";

export interface ParallelAxis {
  name: string;
  label: string;
}

export interface ParallelLine {
  id: string;
  label: string;
  colour: string;
  /** By the axes' order; null: it has no value there. */
  values: readonly (number | null)[];
}

interface Props {
  axes: readonly ParallelAxis[];
  lines: readonly ParallelLine[];
  /** The lines that all ranges leave. */
  onKept?: (ids: ReadonlySet<string>) => void;
}

interface Range {
  low: number;
  high: number;
}

const HEIGHT = 320;
const TOP = 34;
const BOTTOM = HEIGHT - 24;
const GAP = 150;
const SIDE = 70;
const LEAST_DRAG_PX = 4; // less takes the range away

export function ParallelCoordinates({ axes, lines, onKept }: Props) {
  const [ranges, setRanges] = useState<Record<string, Range>>({});
  const drag = useRef<{ name: string; from: number } | null>(null);
  const ink = useComputedColorScheme("light") === "light" ? "#495057" : "#c9c9c9";
  const bounds = axes.map((_, index) => boundsOf(lines.map(({ values }) => values[index] ?? null)));
  const width = 2 * SIDE + GAP * Math.max(0, axes.length - 1);
  const kept = keptBy(axes, lines, ranges);

  function change(next: Record<string, Range>) {
    setRanges(next);
    onKept?.(keptBy(axes, lines, next));
  }
  function valueAt(event: PointerEvent<SVGElement>, index: number): number {
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientY - box.top) / Math.max(1, box.height)));
    const { low, high } = bounds[index] ?? { low: 0, high: 1 };
    return high - share * (high - low);
  }
  function end(event: PointerEvent<SVGElement>, index: number, name: string) {
    const begun = drag.current;
    drag.current = null;
    if (begun === null || begun.name !== name) return;
    const others = Object.fromEntries(Object.entries(ranges).filter(([axis]) => axis !== name));
    const to = valueAt(event, index);
    const { low, high } = bounds[index] ?? { low: 0, high: 1 };
    const isClick = Math.abs(to - begun.from) < ((high - low) * LEAST_DRAG_PX) / (BOTTOM - TOP);
    change(isClick ? others : { ...others, [name]: { low: Math.min(begun.from, to), high: Math.max(begun.from, to) } });
  }

  const x = (index: number) => SIDE + GAP * index;
  const y = (value: number, index: number) => {
    const { low, high } = bounds[index] ?? { low: 0, high: 1 };
    return high === low ? (TOP + BOTTOM) / 2 : BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
  };
  return (
    <div>
      <Group justify="space-between" mih={26}>
        <Text size="xs" c="dimmed" role="status">
          {kept.size === lines.length ? t`Drag along an axis to keep the lines that cross it there.` : t`${kept.size} of ${lines.length} lines kept`}
        </Text>
        {Object.keys(ranges).length > 0 && (
          <Button size="compact-xs" variant="light" onClick={() => change({})}>
            {t`Keep all lines`}
          </Button>
        )}
      </Group>
      <div style={{ overflowX: "auto" }} tabIndex={0} role="region" aria-label={t`Parallel coordinates`}>
        <svg width={width} height={HEIGHT} role="img" aria-label={t`${lines.length} lines over ${axes.map(({ label }) => label).join(", ")}`}>
          {lines.map((line) => (
            <path
              key={line.id}
              d={pathOf(line.values, x, y)}
              fill="none"
              stroke={line.colour}
              strokeWidth={lines.length > 100 ? 1 : 1.6}
              opacity={kept.has(line.id) ? (lines.length > 200 ? 0.5 : 0.85) : 0.06}
            >
              <title>{line.label}</title>
            </path>
          ))}
          {axes.map(({ name, label }, index) => {
            const range = ranges[name];
            const { low, high } = bounds[index] ?? { low: 0, high: 0 };
            return (
              <g key={name} transform={`translate(${x(index)} 0)`} fill={ink} fontSize={11} textAnchor="middle">
                <text y={12} fontWeight={600}>
                  <title>{label}</title>
                  {label.length > 22 ? `${label.slice(0, 21)}…` : label}
                </text>
                <text y={TOP - 6}>{number(high)}</text>
                <text y={BOTTOM + 14}>{number(low)}</text>
                <line y1={TOP} y2={BOTTOM} stroke={ink} />
                {range !== undefined && (
                  <rect x={-6} width={12} y={y(range.high, index)} height={Math.max(2, y(range.low, index) - y(range.high, index))} opacity={0.3} />
                )}
                <rect
                  x={-14}
                  width={28}
                  y={TOP}
                  height={BOTTOM - TOP}
                  fill="transparent"
                  style={{ cursor: "ns-resize", touchAction: "none" }}
                  onPointerDown={(event) => (drag.current = { name, from: valueAt(event, index) })}
                  onPointerUp={(event) => end(event, index, name)}
                />
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}

function boundsOf(values: readonly (number | null)[]): Range {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? { low: 0, high: 0 } : { low, high };
}

/** The lines that cross each axis within its range; a line without a value there is left out. */
export function keptBy(axes: readonly ParallelAxis[], lines: readonly ParallelLine[], ranges: Record<string, Range>): Set<string> {
  const kept = lines.filter(({ values }) =>
    axes.every(({ name }, index) => {
      const range = ranges[name];
      const value = values[index] ?? null;
      return range === undefined || (value !== null && range.low <= value && value <= range.high);
    }),
  );
  return new Set(kept.map(({ id }) => id));
}

function pathOf(values: readonly (number | null)[], x: (index: number) => number, y: (value: number, index: number) => number): string {
  let path = "";
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value === null) isOpen = false;
    else {
      path += `${isOpen ? "L" : "M"}${x(index)} ${y(value, index).toFixed(1)}`;
      isOpen = true;
    }
  }
  return path;
}
