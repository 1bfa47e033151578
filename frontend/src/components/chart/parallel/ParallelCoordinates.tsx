// SPDX-License-Identifier: Apache-2.0
// Parallel coordinates: one vertical axis a quantity, one line a thing. A range on an axis keeps the lines that cross it there.
import { t } from "@lingui/core/macro";
import { Button, Group, Text, UnstyledButton, useComputedColorScheme } from "@mantine/core";
import { type Ref, useId, useMemo, useState } from "react";

import { shareOf, ticksOf } from "@/components/chart/scale";
import { number } from "@/lib/quantities";

import { AxisRange } from "./AxisRange";
import { ParallelLines } from "./ParallelLines";
import classes from "./parallel.module.css";
import { type ParallelAxis, type ParallelLine, type Range, type Ranges, keptBy } from "./ranges";

interface Props {
  axes: readonly ParallelAxis[];
  lines: readonly ParallelLine[];
  /** What is drawn, in words. */
  label: string;
  /** On some of the axes, by their names. */
  ranges: Ranges;
  onRanges: (ranges: Ranges) => void;
  /** The axis shall be logarithmic, or linear again; left out: the axes stay as they are. */
  onScale?: (name: string, isLog: boolean) => void;
  /** The drawing, to make a picture of. */
  drawing?: Ref<SVGSVGElement>;
}

const HEIGHT = 352;
const TOP = 46; // two lines of a name, and the greatest value
const BOTTOM = HEIGHT - 44;
const GAP = 150;
const SIDE = 76;
const INK = { light: "#495057", dark: "#c9c9c9" };
const PAPER = { light: "#ffffff", dark: "#242424" };
const MOST_LETTERS = 22; // of a line of text: there is as much room between two axes
const N_TICKS = 5;
const MOST_OPTIONS_NAMED = 12;
const LEAST_TICK_GAP = 0.06; // of the axis: nearer places would be written over each other

export function ParallelCoordinates({ axes, lines, label, ranges, onRanges, onScale, drawing }: Props) {
  const [dragged, setDragged] = useState<{ name: string; range: Range | null } | null>(null);
  const hintId = useId();
  const scheme = useComputedColorScheme("light");
  const width = 2 * SIDE + GAP * Math.max(0, axes.length - 1);
  const shownRanges = useMemo(() => (dragged === null ? ranges : withRange(ranges, dragged.name, dragged.range)), [ranges, dragged]);
  const kept = useMemo(() => keptBy(axes, lines, shownRanges), [axes, lines, shownRanges]);
  const values = useMemo(() => axes.map((_, index) => rising(lines.map((line) => line.values[index] ?? null))), [axes, lines]);
  const pathOf = useMemo(() => (line: ParallelLine) => pathThrough(line.values, axes), [axes]);
  return (
    <div>
      <Group justify="space-between" mih={26} gap="xs">
        <Text size="xs" c="dimmed" role="status">
          {Object.keys(shownRanges).length === 0 ? t`Drag along an axis to keep the lines that cross it there.` : t`${kept.size} of ${lines.length} lines kept`}
        </Text>
        {Object.keys(ranges).length > 0 && (
          <Button size="compact-xs" variant="light" onClick={() => onRanges({})}>
            {t`Keep all lines`}
          </Button>
        )}
      </Group>
      <span id={hintId} className={classes.hint}>
        {t`Arrow keys move this end from value to value, Page up and Page down further; Escape keeps all lines of the axis.`}
      </span>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label={t`Parallel coordinates`}>
        <div className={classes.frame} style={{ width, height: HEIGHT }} dir="ltr">
          <svg ref={drawing} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
            <ParallelLines lines={lines} kept={kept} pathOf={pathOf} />
            {axes.map((axis, index) => (
              <AxisDrawing key={axis.name} axis={axis} left={leftOf(index)} scheme={scheme} range={shownRanges[axis.name]} y={(value) => heightOf(value, axis)} />
            ))}
          </svg>
          {axes.map((axis, index) => (
            <AxisRange
              key={axis.name}
              axis={axis}
              values={values[index] ?? []}
              range={shownRanges[axis.name]}
              place={{ left: leftOf(index), top: TOP, height: BOTTOM - TOP }}
              hintId={hintId}
              textOf={(value) => textOf(axis, value)}
              onDrag={(range) => setDragged({ name: axis.name, range })}
              onChange={(range) => {
                setDragged(null);
                onRanges(withRange(ranges, axis.name, range));
              }}
            />
          ))}
          {onScale !== undefined &&
            axes.map(({ name, scale, allowsLog }, index) =>
              allowsLog ? (
                <UnstyledButton
                  key={name}
                  className={classes.scale}
                  style={{ left: leftOf(index), top: BOTTOM + 18 }}
                  aria-pressed={scale.isLog}
                  aria-label={t`${name}, log`}
                  onClick={() => onScale(name, !scale.isLog)}
                >
                  {t`log`}
                </UnstyledButton>
              ) : null,
            )}
        </div>
      </div>
    </div>
  );
}

function leftOf(index: number): number {
  return SIDE + GAP * index;
}

function heightOf(value: number, { scale }: ParallelAxis): number {
  return BOTTOM - shareOf(scale, value) * (BOTTOM - TOP);
}

interface AxisProps {
  axis: ParallelAxis;
  left: number;
  scheme: "light" | "dark";
  range: Range | undefined;
  y: (value: number) => number;
}

function AxisDrawing({ axis, left, scheme, range, y }: AxisProps) {
  const { name, scale } = axis;
  const ink = INK[scheme];
  const written = { fill: ink, stroke: PAPER[scheme], strokeWidth: 3, paintOrder: "stroke" } as const;
  return (
    <g transform={`translate(${left} 0)`} fill={ink} fontSize={11} fontFamily="Inter, system-ui, sans-serif" textAnchor="middle">
      <text fontWeight={600}>
        <title>{name}</title>
        {nameLines(name).map((line, index, all) => (
          <tspan key={index} x={0} y={index === 0 && all.length > 1 ? 12 : 26}>
            {line}
          </tspan>
        ))}
      </text>
      {(axis.options === undefined || scale.high > scale.low) && (
        <>
          <text y={TOP - 6}>{textOf(axis, scale.high)}</text>
          <text y={BOTTOM + 14}>{textOf(axis, scale.low)}</text>
        </>
      )}
      <line y1={TOP} y2={BOTTOM} stroke={ink} />
      {range !== undefined && <rect x={-6} width={12} y={y(range.high)} height={Math.max(2, y(range.low) - y(range.high))} opacity={0.3} />}
      {placesOf(axis).map((value) => (
        <g key={value} transform={`translate(0 ${y(value)})`}>
          <line x2={4} stroke={ink} />
          <text x={7} y={-4} textAnchor="start" {...written}>
            {textOf(axis, value)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Those that are written next to the axis: options or round values that are not at its ends, beyond which these are written. */
function placesOf({ scale, options }: ParallelAxis): number[] {
  if (options !== undefined && scale.low === scale.high) return [scale.low];
  if (options !== undefined) return options.length > MOST_OPTIONS_NAMED ? [] : options.map((_, index) => index).slice(1, -1);
  if (scale.low === scale.high) return [];
  return ticksOf(scale, N_TICKS).filter((value) => {
    const share = shareOf(scale, value);
    return share > LEAST_TICK_GAP && share < 1 - LEAST_TICK_GAP;
  });
}

function textOf({ options }: ParallelAxis, value: number): string {
  return options === undefined ? number(value) : cut(options[Math.round(value)] ?? "");
}

/** The middle of long names goes: both ends tell them apart. */
function cut(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS / 2)}…${text.slice(1 - MOST_LETTERS / 2)}` : text;
}

/** One line, or two of a long name, parted behind the last sign that fits into the first. */
function nameLines(name: string): string[] {
  if (name.length <= MOST_LETTERS) return [name];
  const first = /^.*[ ./_-]/.exec(name.slice(0, MOST_LETTERS))?.[0] ?? name.slice(0, MOST_LETTERS);
  return [first.trimEnd(), cut(name.slice(first.length))];
}

function withRange(ranges: Ranges, name: string, range: Range | null): Ranges {
  const others = Object.fromEntries(Object.entries(ranges).filter(([axis]) => axis !== name));
  return range === null ? others : { ...others, [name]: range };
}

function rising(values: readonly (number | null)[]): number[] {
  return [...new Set(values.filter((value) => value !== null))].sort((a, b) => a - b);
}

function pathThrough(values: readonly (number | null)[], axes: readonly ParallelAxis[]): string {
  let path = "";
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    const axis = axes[index];
    if (value === null || axis === undefined) isOpen = false;
    else {
      path += `${isOpen ? "L" : "M"}${leftOf(index)} ${heightOf(value, axis).toFixed(1)}`;
      isOpen = true;
    }
  }
  return path;
}
