// SPDX-License-Identifier: Apache-2.0
// The arguments of a script as one line of text, in the way of a shell: words, and quotation marks around spaces.

/** The words of a line; null: a quotation mark is not closed. */
export function wordsOf(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (const character of line) {
    if (quote !== "") {
      if (character === quote) quote = "";
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return null;
  return word === null ? words : [...words, word];
}

/** A line with these words. */
export function lineOf(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  if (word !== "" && !/[\s"']/.test(word)) return word;
  // a word with both marks is written in parts, each in the mark that it has not
  return word.split(/(")/).map((part) => (part === '"' ? `'"'` : part === "" ? "" : `"${part}"`)).join("") || '""';
}
