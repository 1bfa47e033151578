// SPDX-License-Identifier: Apache-2.0
// Which lines of a log are one traceback.
import { expect, it } from "vitest";

import type { LogLine } from "@/api/types";
import { line } from "@/testing/storedJob";

import { logRows } from "./logRows";

const NONE: ReadonlySet<number> = new Set();
const TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 3, in load', "    read(x)", "ValueError: no label"];

/** Lines of two workers, whose own lines are numbered one by one: "0 text" is worker 0's. */
function linesOf(texts: readonly string[]): LogLine[] {
  const numbers = [0, 0];
  return texts.map((text, i) => {
    const index = Number(text[0]);
    numbers[index] = (numbers[index] ?? 0) + 1;
    return { ...line(i + 1, text.slice(2), index), number: numbers[index] ?? 0 };
  });
}
const of = (index: number, texts: readonly string[]) => texts.map((text) => `${index} ${text}`);
const shown = (lines: LogLine[], opened = NONE) => logRows(lines, opened).map(({ line: { text }, traceback }) => [text, traceback.length]);

it("folds a traceback to its last line, and shows all of it when it is opened", () => {
  const lines = linesOf(of(0, ["before", ...TRACEBACK, "after"]));
  expect(shown(lines)).toEqual([["before", 0], ["ValueError: no label", 4], ["after", 0]]);
  expect(shown(lines, new Set([5])).map(([text]) => text)).toEqual(["before", ...TRACEBACK, "after"]);
});

it("takes the exceptions that one followed from as one traceback", () => {
  const chain = [...TRACEBACK, "", "The above exception was the direct cause of the following exception:", "", ...TRACEBACK];
  expect(shown(linesOf(of(0, [...chain, "", "after"])))).toEqual([["ValueError: no label", 11], ["", 0], ["after", 0]]);
});

it("keeps tracebacks of several workers apart whose lines are mixed, behind the names of ranks", () => {
  const texts = TRACEBACK.flatMap((text) => [`0 [rank0]: ${text}`, `1 [rank1]: ${text}`, "1 x"].slice(0, 2));
  expect(shown(linesOf(texts))).toEqual([["[rank0]: ValueError: no label", 4], ["[rank1]: ValueError: no label", 4]]);
});

it("leaves lines of which some are missing, or whose end is not there yet, as they are", () => {
  const lines = linesOf(of(0, TRACEBACK));
  expect(shown(lines.filter(({ seq }) => seq !== 3))).toHaveLength(3);
  expect(shown(lines.slice(0, 3))).toHaveLength(3);
});
