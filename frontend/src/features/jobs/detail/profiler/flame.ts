// SPDX-License-Identifier: Apache-2.0
// A trace as a flame chart: lanes of threads, rows of depth, and which part of them is in view. Times in microseconds.
import { isRecord } from "@/api/client";
import { csvOf } from "@/lib/download";

export interface Span {
  name: string;
  begin: number;
  duration: number;
}

/** One thread. rows[depth]: what was open at that depth, in order of time; spans of a row do not overlap. */
export interface Lane {
  label: string;
  rows: Span[][];
}

export interface Trace {
  lanes: Lane[];
  begin: number;
  end: number;
}

export interface View {
  begin: number;
  end: number;
}

const SMALLEST_VIEW = 1;
const OWN_TRACK = "MLHub";

/** Throws for what is no trace. Threads with most time come first, after what the worker did. */
export function traceOf(raw: unknown): Trace {
  const events = isRecord(raw) ? raw["traceEvents"] : undefined;
  if (!Array.isArray(events)) throw new Error("The file is no trace.");
  const spans = new Map<string, Span[]>();
  const labels = new Map<string, string>();
  for (const event of events as unknown[]) {
    if (!isRecord(event)) continue;
    const key = `${String(event["pid"])}/${String(event["tid"])}`;
    const { ph, name, ts, dur, args } = event;
    if (ph === "M" && name === "thread_name" && isRecord(args)) labels.set(key, String(args["name"]));
    if (ph !== "X" || typeof ts !== "number" || typeof dur !== "number" || !(dur >= 0) || !Number.isFinite(ts)) continue;
    const known = spans.get(key);
    const span = { name: String(name), begin: ts, duration: dur };
    if (known === undefined) spans.set(key, [span]);
    else known.push(span);
  }
  const lanes = [...spans].map(([key, found]) => ({ key, label: labels.get(key) ?? key, rows: rowsOf(found) }));
  lanes.sort((a, b) => Number(b.key.startsWith(OWN_TRACK)) - Number(a.key.startsWith(OWN_TRACK)) || busy(b) - busy(a));
  let [begin, end] = [Infinity, -Infinity];
  for (const found of spans.values()) {
    for (const span of found) {
      begin = Math.min(begin, span.begin);
      end = Math.max(end, span.begin + span.duration);
    }
  }
  return begin < end ? { lanes, begin, end } : { lanes: [], begin: 0, end: 1 };
}

function busy({ rows: [first = []] }: Lane): number {
  return first.reduce((total, { duration }) => total + duration, 0);
}

/** Puts each span below the one that it lies in. */
export function rowsOf(spans: Span[]): Span[][] {
  const rows: Span[][] = [];
  const open: number[] = []; // ends
  for (const span of [...spans].sort((a, b) => a.begin - b.begin || b.duration - a.duration)) {
    for (let end = open.at(-1); end !== undefined && end <= span.begin; end = open.at(-1)) open.pop();
    (rows[open.length] ??= []).push(span);
    open.push(span.begin + span.duration);
  }
  return rows;
}

/** The index of the first span of a row that ends after the moment. */
export function firstAfter(row: readonly Span[], moment: number): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const span = row[middle];
    if (span !== undefined && span.begin + span.duration > moment) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The view that shows `factor` times as much, around the same moment, within the trace. */
export function zoomed(view: View, factor: number, around: number, trace: View): View {
  const length = Math.min(Math.max((view.end - view.begin) * factor, SMALLEST_VIEW), trace.end - trace.begin);
  const share = (around - view.begin) / (view.end - view.begin);
  return moved({ begin: around - share * length, end: around + (1 - share) * length }, 0, trace);
}

/** The view later by so many microseconds, within the trace. */
export function moved(view: View, by: number, trace: View): View {
  const length = view.end - view.begin;
  const begin = Math.max(trace.begin, Math.min(view.begin + by, trace.end - length));
  return { begin, end: begin + length };
}

/** "12 µs", "3.4 ms". */
export function microseconds(value: number): string {
  if (value < 1000) return `${Number(value.toPrecision(3))} µs`;
  if (value < 1e6) return `${Number((value / 1000).toPrecision(3))} ms`;
  return `${Number((value / 1e6).toPrecision(3))} s`;
}

/** "120~4500", microseconds after the trace's begin; "": all of it. */
export function textOfView({ begin, end }: View, trace: Trace): string {
  if (begin <= trace.begin && end >= trace.end) return "";
  return `${Math.round(begin - trace.begin)}~${Math.round(end - trace.begin)}`;
}

/** The view of such a text, within the trace; all of it where the text is none. */
export function viewOf(text: string, trace: Trace): View {
  const [from = NaN, to = NaN] = text.split("~").map((part) => (part === "" ? NaN : Number(part)));
  const [begin, end] = [Math.max(trace.begin, trace.begin + from), Math.min(trace.end, trace.begin + to)];
  return end - begin >= SMALLEST_VIEW ? { begin, end } : { begin: trace.begin, end: trace.end };
}

/** The spans that are in view, a row each. */
export function csvOfSpans({ lanes, begin }: Trace, view: View): string {
  const spans = lanes.flatMap(({ label, rows }) =>
    rows.flatMap((row, depth) =>
      row
        .filter((span) => span.begin < view.end && span.begin + span.duration > view.begin)
        .map((span) => [label, depth, span.name, span.begin - begin, span.duration] as const),
    ),
  );
  return csvOf([["thread", "depth", "name", "begin_us", "duration_us"], ...spans]);
}
