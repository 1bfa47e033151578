// SPDX-License-Identifier: Apache-2.0
// A trace becomes lanes and rows, whatever is in the file; views stay within it.
import { gzipSync } from "node:zlib";

import { expect, it } from "vitest";

import { csvOfSpans, firstAfter, microseconds, moved, rowsOf, type Span, textOfView, traceOf, viewOf, zoomed } from "./flame";
import { placesOf, ROW } from "./flameRows";
import { unpacked } from "./readTrace";
import { ranksOf, recordedParts } from "./recording";

const span = (name: string, begin: number, duration: number): Span => ({ name, begin, duration });
const event = (name: string, ts: unknown, dur: unknown, tid: unknown = 1, pid: unknown = 7) => ({ ph: "X", name, ts, dur, pid, tid });

it("puts what is called below what calls it", () => {
  const rows = rowsOf([span("addmm", 2, 3), span("step", 0, 10), span("linear", 1, 5), span("relu", 6, 2), span("next", 10, 4)]);
  expect(rows.map((row) => row.map(({ name }) => name))).toEqual([["step", "next"], ["linear", "relu"], ["addmm"]]);
});

it("shows what the worker did first, then the busiest threads, and passes over what it does not know", () => {
  const trace = traceOf({
    traceEvents: [
      event("small", 5, 1, 2),
      event("large", 0, 50),
      event("reading", 0, 10, 0, "MLHub"),
      { ph: "M", name: "thread_name", pid: 7, tid: 1, args: { name: "main" } },
      event("broken", "noon", 5),
      event("broken", 1, -5),
      event("broken", Infinity, 5),
      null,
      { ph: "s", ts: 3 },
    ],
  });
  expect(trace.lanes.map(({ label }) => label)).toEqual(["MLHub/0", "main", "7/2"]);
  expect([trace.begin, trace.end]).toEqual([0, 50]);
  expect(() => traceOf({ traceEvents: "none" })).toThrow("no trace");
  expect(traceOf({ traceEvents: [] }).lanes).toEqual([]);
});

it("finds what is in view among many spans", () => {
  const row = Array.from({ length: 1000 }, (_, index) => span(`s${index}`, index * 10, 10));
  expect(firstAfter(row, -5)).toBe(0);
  expect(firstAfter(row, 4999)).toBe(499);
  expect(firstAfter(row, 5000)).toBe(500);
  expect(firstAfter(row, 1e9)).toBe(1000);
});

it("zooms and moves within the trace", () => {
  const trace = { lanes: [], begin: 0, end: 1000 };
  expect(zoomed({ begin: 0, end: 1000 }, 0.5, 800, trace)).toEqual({ begin: 400, end: 900 });
  expect(zoomed({ begin: 400, end: 900 }, 100, 500, trace)).toEqual({ begin: 0, end: 1000 });
  expect(zoomed({ begin: 10, end: 11 }, 0.001, 10, trace).end).toBe(11);
  expect(moved({ begin: 100, end: 300 }, 5000, trace)).toEqual({ begin: 800, end: 1000 });
  expect(moved({ begin: 100, end: 300 }, -5000, trace)).toEqual({ begin: 0, end: 200 });
});

it("has a row for each label and depth, and no more than a canvas holds", () => {
  const lane = { label: "main", rows: [[span("a", 0, 1)], [span("b", 0, 1)]] };
  const places = placesOf([lane, lane]);
  expect(places.map(({ y, row }) => [y / ROW, row?.[0]?.name ?? null])).toEqual([[0, null], [1, "a"], [2, "b"], [3, null], [4, "a"], [5, "b"]]);
  expect(placesOf(Array.from({ length: 5000 }, () => lane)).length).toBeLessThanOrEqual(600);
});

it("says times in the unit that fits", () => {
  expect([0.123, 12, 3400, 2.5e6].map(microseconds)).toEqual(["0.123 µs", "12 µs", "3.4 ms", "2.5 s"]);
});

const packed = (text: string) => new Response(gzipSync(text)).body as ReadableStream<Uint8Array<ArrayBuffer>>;

it("unpacks a trace, but no more than a page can hold", async () => {
  expect(await unpacked(packed("ähnlich"), 100)).toBe("ähnlich");
  await expect(unpacked(packed("0".repeat(1_000_000)), 1000)).rejects.toThrow("too large");
});

it("reads ranks as people write them, and leaves what is none to the platform", () => {
  expect(ranksOf("0, 2;3  4")).toEqual([0, 2, 3, 4]);
  expect(ranksOf("0, 2-4 6–7")).toEqual([0, 2, 3, 4, 6, 7]);
  expect(ranksOf("4-2")).toEqual([-1]);
  expect(ranksOf("0-999999999")).toHaveLength(1000);
  expect(ranksOf("")).toEqual([]);
  expect(ranksOf("0 one -1")).toEqual([0, -1, -1]);
});

it("shows means of a step, without what took no time", () => {
  const parts = recordedParts({ step_s: { input: 1, compute: 6, sync: 3, wait: 0 }, n_steps: 5 });
  expect(parts.map(({ name, seconds, share }) => [name, seconds, share])).toEqual([["input", 0.2, 0.1], ["compute", 1.2, 0.6], ["sync", 0.6, 0.3]]);
  expect(recordedParts({ step_s: null, n_steps: 0 })).toEqual([]);
});

it("keeps a view in the address, and takes a wrong one for the whole trace", () => {
  const trace = { lanes: [], begin: 100, end: 1100 };
  expect(textOfView({ begin: 100, end: 1100 }, trace)).toBe("");
  const text = textOfView({ begin: 150, end: 400 }, trace);
  expect(text).toBe("50~300");
  expect(viewOf(text, trace)).toEqual({ begin: 150, end: 400 });
  for (const wrong of ["", "300~50", "a~b", "~", "7"]) expect(viewOf(wrong, trace)).toEqual({ begin: 100, end: 1100 });
  expect(viewOf("900~9000", trace)).toEqual({ begin: 1000, end: 1100 });
});

it("gives the spans in view as a table", () => {
  const trace = traceOf({ traceEvents: [event("outer", 100, 50), event("inner", 110, 10), event("later", 500, 5)] });
  expect(csvOfSpans(trace, { begin: 100, end: 200 }).trim().split("\r\n")).toEqual([
    "thread,depth,name,begin_us,duration_us",
    "7/1,0,outer,0,50",
    "7/1,1,inner,10,10",
  ]);
});
