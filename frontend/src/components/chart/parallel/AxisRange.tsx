// SPDX-License-Identifier: Apache-2.0
// The range that is kept on one axis of parallel coordinates: dragged along the axis, or its ends moved with the keyboard.
import { t } from "@lingui/core/macro";
import { type KeyboardEvent, type PointerEvent, useRef } from "react";

import { shareOf, valueAt } from "@/components/chart/scale";

import classes from "./parallel.module.css";
import { type ParallelAxis, type Range, stepped, withEnd } from "./ranges";

const LEAST_DRAG_PX = 4; // less takes the range away
const STEPS = 50; // of a key from one end of an axis to the other, where there are more values
const PAGES = 10;

interface Props {
  axis: ParallelAxis;
  /** What lines have there: rising, each once. */
  values: readonly number[];
  range: Range | undefined;
  place: { left: number; top: number; height: number };
  hintId: string;
  textOf: (value: number) => string;
  /** While it is dragged; null: no range. */
  onDrag: (range: Range | null) => void;
  onChange: (range: Range | null) => void;
}

export function AxisRange({ axis: { name, scale }, values, range, place, hintId, textOf, onDrag, onChange }: Props) {
  const begun = useRef<{ from: number; clientY: number; isEnd: boolean } | null>(null);
  const whole = { low: scale.low, high: scale.high };
  const shown = range ?? whole;

  function valueUnder(event: PointerEvent<HTMLElement>): number {
    const box = event.currentTarget.getBoundingClientRect();
    return valueAt(scale, 1 - (event.clientY - box.top) / Math.max(1, box.height));
  }
  function dragged(event: PointerEvent<HTMLElement>): Range | null {
    const { from, clientY, isEnd } = begun.current ?? { from: 0, clientY: event.clientY, isEnd: true };
    if (Math.abs(event.clientY - clientY) < LEAST_DRAG_PX) return isEnd ? (range ?? null) : null;
    const to = valueUnder(event);
    return withEnd({ low: Math.min(from, to), high: Math.max(from, to) }, "low", Math.min(from, to), scale);
  }
  function onKeyDown(event: KeyboardEvent, end: keyof Range) {
    const next = event.key === "Escape" ? whole[end] : moved(event.key, values, shown[end]);
    if (next === null || (event.key === "Escape" && range === undefined)) return;
    event.preventDefault();
    event.stopPropagation();
    onChange(event.key === "Escape" ? null : withEnd(shown, end, next, scale));
  }

  return (
    <div
      role="group"
      aria-label={name}
      className={classes.axis}
      style={{ left: place.left, top: place.top, height: place.height }}
      onPointerDown={(event) => {
        const end = (event.target as HTMLElement).dataset.end;
        const from = end === "low" ? shown.high : end === "high" ? shown.low : valueUnder(event);
        begun.current = { from, clientY: event.clientY, isEnd: end !== undefined };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (begun.current !== null) onDrag(dragged(event));
      }}
      onPointerUp={(event) => {
        if (begun.current !== null) onChange(dragged(event));
        begun.current = null;
      }}
      onPointerCancel={() => {
        begun.current = null;
        onDrag(range ?? null);
      }}
    >
      {(["high", "low"] as const).map((end) => (
        <div
          key={end}
          role="slider"
          tabIndex={0}
          aria-label={end === "low" ? t`${name}, lower end` : t`${name}, upper end`}
          aria-describedby={hintId}
          aria-orientation="vertical"
          aria-valuemin={scale.low}
          aria-valuemax={scale.high}
          aria-valuenow={shown[end]}
          aria-valuetext={textOf(shown[end])}
          data-end={end}
          data-set={range !== undefined || undefined}
          className={classes.end}
          style={{ top: (1 - shareOf(scale, shown[end])) * place.height }}
          onKeyDown={(event) => onKeyDown(event, end)}
        />
      ))}
    </div>
  );
}

/** Where the key takes an end; null: it is none of those keys. */
function moved(key: string, values: readonly number[], from: number): number | null {
  const step = Math.max(1, Math.round(values.length / STEPS));
  const page = Math.max(1, Math.round(values.length / PAGES));
  const steps: Readonly<Record<string, number>> = { ArrowUp: step, ArrowDown: -step, PageUp: page, PageDown: -page, Home: -Infinity, End: Infinity };
  const found = steps[key];
  return found === undefined ? null : stepped(values, from, found);
}
