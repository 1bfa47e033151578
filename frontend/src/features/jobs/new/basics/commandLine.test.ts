// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";

import { lineOf, wordsOf } from "./commandLine";

test.each([
  ["", []],
  ["  --lr 0.1\n--fast ", ["--lr", "0.1", "--fast"]],
  ['--name "two words"', ["--name", "two words"]],
  ["--text='say \"hi\"' ''", ['--text=say "hi"', ""]],
  ["config/small.py --compile=False", ["config/small.py", "--compile=False"]],
])("%j has these words", (line, words) => {
  expect(wordsOf(line)).toEqual(words);
});

test("a quotation mark that is not closed leaves no words", () => {
  expect(wordsOf('--name "two')).toBeNull();
});

test.each([[["a b", "c"]], [['say "hi"', "it's", ""]], [[`both " and '`]], [["$MLHUB_DATA_DIR", "--x=1"]]])(
  "%j is read back from its line",
  (words) => {
    expect(wordsOf(lineOf(words))).toEqual(words);
  },
);
