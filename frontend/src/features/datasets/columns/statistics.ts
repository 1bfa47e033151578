// SPDX-License-Identifier: Apache-2.0
// What inspection counted in a table's columns; anything else is no statistics.
import { isRecord } from "@/api/client";

export interface Histogram {
  edges: number[];
  counts: number[];
}

/** A value of a column as the file has it, with the number that it is in each format; undefined where it is none. */
export interface NumberReadings {
  text: string;
  point: number | undefined;
  comma: number | undefined;
}

export interface ColumnStatistics {
  name: string;
  /** number, category, date or text; or why it is left out: identifier, constant, empty, other. */
  type: string;
  role: string;
  usedAs: string;
  treatment: string;
  nMissing: number;
  /** undefined: too many to count. */
  nDistinct: number | undefined;
  examples: string[];
  histogram: Histogram | undefined;
  /** Of numbers and dates. */
  range: [string, string] | undefined;
  top: { value: string; n: number }[];
  /** point or comma, by which words are read as numbers; empty: they are not, or need no format. */
  numberFormat: string;
  /** undefined: no value is read differently by another format. */
  readings: NumberReadings | undefined;
}

export interface TableStatistics {
  nRows: number;
  columns: ColumnStatistics[];
  problems: { column: string; message: string; remedy: string }[];
  /** Of a CSV that is not UTF-8, as people call it; else empty. */
  encoding: string;
}

export function asTableStatistics(value: unknown): TableStatistics | null {
  if (!isRecord(value) || value.kind !== "table" || !Array.isArray(value.columns)) return null;
  return {
    nRows: whole(value.n_rows),
    columns: value.columns.filter(isRecord).map(asColumn),
    problems: records(value.problems).map((problem) => ({
      column: text(problem.column),
      message: text(problem.message),
      remedy: text(problem.remedy),
    })),
    encoding: text(value.encoding),
  };
}

function asColumn(column: Record<string, unknown>): ColumnStatistics {
  return {
    name: text(column.name),
    type: text(column.type),
    role: text(column.role),
    usedAs: text(column.used_as),
    treatment: text(column.treatment),
    nMissing: whole(column.n_missing),
    nDistinct: typeof column.n_distinct === "number" ? column.n_distinct : undefined,
    examples: Array.isArray(column.examples) ? column.examples.map(text) : [],
    histogram: asHistogram(column.histogram),
    range: asRange(column),
    numberFormat: text(column.number_format),
    readings: asReadings(column.readings),
    top: records(column.top).map(({ value, n }) => ({ value: text(value), n: whole(n) })),
  };
}

function asHistogram(value: unknown): Histogram | undefined {
  if (!isRecord(value) || !Array.isArray(value.edges) || !Array.isArray(value.counts)) return undefined;
  return { edges: value.edges.map(Number), counts: value.counts.map(Number) };
}

function asReadings(value: unknown): NumberReadings | undefined {
  if (!isRecord(value) || typeof value.text !== "string") return undefined;
  return { text: value.text, point: asNumber(value.point), comma: asNumber(value.comma) };
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function asRange({ min, max, first, last }: Record<string, unknown>): [string, string] | undefined {
  if (typeof min === "number" && typeof max === "number") return [short(min), short(max)];
  if (typeof first === "string" && typeof last === "string") return datesOf(first, last);
  return undefined;
}

function short(value: number): string {
  return String(Number(value.toPrecision(5)));
}

/** The days; of moments on one day also the times. */
function datesOf(first: string, last: string): [string, string] {
  const [from = "", to = ""] = [first, last].map((at) => at.replace(/T.*/, ""));
  return from === to ? [moment(first), moment(last)] : [from, to];
}

function moment(at: string): string {
  return at.replace(/T00:00:00$/, "").replace("T", " ");
}

function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function whole(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
