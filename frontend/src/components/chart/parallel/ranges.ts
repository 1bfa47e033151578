// SPDX-License-Identifier: Apache-2.0
// What parallel coordinates are made of, and which of their lines the ranges on the axes leave.
import type { Scale } from "@/components/chart/scale";

export interface ParallelAxis {
  name: string;
  scale: Scale;
  /** Of what is no number: its options, whose places are its values. */
  options?: readonly string[];
  /** Whether its values have a place on a logarithmic axis. */
  allowsLog?: boolean;
}

export interface ParallelLine {
  id: string;
  label: string;
  colour: string;
  /** Of 1; left out: as the number of lines allows. */
  opacity?: number;
  isEmphasised?: boolean;
  /** By the axes' order; null: it has no value there. */
  values: readonly (number | null)[];
}

export interface Range {
  low: number;
  high: number;
}

export type Ranges = Readonly<Record<string, Range>>;

/** The lines that cross each axis within its range; a line without a value there is left out. */
export function keptBy(axes: readonly Pick<ParallelAxis, "name">[], lines: readonly Pick<ParallelLine, "id" | "values">[], ranges: Ranges): Set<string> {
  const kept = lines.filter(({ values }) =>
    axes.every(({ name }, index) => {
      const range = ranges[name];
      const value = values[index] ?? null;
      return range === undefined || (value !== null && range.low <= value && value <= range.high);
    }),
  );
  return new Set(kept.map(({ id }) => id));
}

/** From a value so many values up or down among those that rise; no further than the last one. */
export function stepped(values: readonly number[], from: number, steps: number): number {
  const below = values.filter((value) => value < from).length;
  const isBetween = values[below] !== from;
  const index = below + steps - (isBetween && steps > 0 ? 1 : 0);
  return values[Math.min(values.length - 1, Math.max(0, index))] ?? from;
}

/** The range with one end moved, no further than the other end; null: it leaves out nothing of the axis. */
export function withEnd(range: Range, end: keyof Range, value: number, { low, high }: Scale): Range | null {
  const moved = end === "low" ? { low: Math.min(value, range.high), high: range.high } : { low: range.low, high: Math.max(value, range.low) };
  return moved.low <= low && moved.high >= high ? null : moved;
}
