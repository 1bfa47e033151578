// SPDX-License-Identifier: Apache-2.0
// The log's tail: in order, once, bounded.
import { expect, it } from "vitest";

import type { LogLine } from "@/api/types";

import { MAX_LINES, NO_LINES, mergeLines } from "./logTail";

const line = (seq: number): LogLine => ({
  seq,
  at: null,
  attempt_number: 1,
  role: "worker",
  index: 0,
  number: seq,
  text: `line ${seq}`,
  n_dropped: 0,
});

it("keeps every line once and in order, although batches overlap and arrive late", () => {
  const batches = [[line(3), line(4)], [line(1), line(3)], [line(2)]];
  const tail = batches.reduce((known, batch) => mergeLines(known, batch), NO_LINES);
  expect(tail.lines.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  expect(tail.isCut).toBe(false);
});

it("keeps the newest lines when there are too many, and says so", () => {
  const lines = Array.from({ length: MAX_LINES + 5 }, (_, index) => line(index));
  const tail = mergeLines(NO_LINES, lines);
  expect(tail.lines).toHaveLength(MAX_LINES);
  expect(tail.lines.at(-1)?.seq).toBe(MAX_LINES + 4);
  expect(tail.isCut).toBe(true);
});
