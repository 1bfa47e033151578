// SPDX-License-Identifier: Apache-2.0
// What a trained model takes, from the schema of the dataset that it was trained on, and rows made of what people typed.
import { plural, t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import { number } from "@/lib/quantities";

export interface InputColumn {
  name: string;
  kind: "number" | "category" | "date" | "text";
  /** The known categories; the first of them is chosen until another one is. */
  words: string[];
  /** Whether the dates of the column have a time. */
  hasTime: boolean;
  hint: string;
}

/** What is in the fields of a row. columns: by name what was typed, or of categories what was chosen; others: the words typed for another category. */
export interface RowValues {
  columns: Record<string, string>;
  others: Record<string, string>;
  image: File | null;
  audio: File | null;
  text: string;
}

export type ModelInputs =
  | { kind: "columns"; columns: InputColumn[] }
  | { kind: "image" }
  | { kind: "audio" }
  | { kind: "text"; isContinued: boolean }
  | { kind: "numbers"; n: number }
  | { kind: "none"; shape: string };

/** schema, statistics: of the dataset version; columns that the model does not use are in the statistics alone. */
export function inputsOf(format: string, schema: unknown, statistics: unknown): ModelInputs {
  if (!isRecord(schema)) return { kind: "none", shape: "–" };
  const shape = Array.isArray(schema.input_shape) ? schema.input_shape.map(Number) : [];
  if (Array.isArray(schema.columns)) {
    const ranges = rangesOf(statistics);
    return { kind: "columns", columns: schema.columns.filter(isRecord).map((spec) => column(spec, ranges)) };
  }
  if (format === "text" || format === "text_lines") return { kind: "text", isContinued: schema.task === "language_modelling" };
  if (format === "audio_folder") return { kind: "audio" };
  if (format === "image_folder" || format === "webdataset" || (shape.length === 3 && (shape[0] === 1 || shape[0] === 3))) return { kind: "image" };
  if (shape.length === 1 && shape[0] !== undefined) return { kind: "numbers", n: shape[0] };
  return { kind: "none", shape: shape.join(" × ") };
}

function column(spec: Record<string, unknown>, ranges: Map<string, string>): InputColumn {
  const name = String(spec.name);
  const kind = spec.kind === "category" || spec.kind === "date" || spec.kind === "text" ? spec.kind : "number";
  return {
    name,
    kind,
    words: Array.isArray(spec.categories) ? spec.categories.map(String) : [],
    hasTime: spec.has_time === true,
    hint:
      kind === "category"
        ? ""
        : kind === "text"
          ? aboutText(spec)
          : [ranges.get(name), aboutFormat(spec), absent(kind, spec)].filter(Boolean).join(" "),
  };
}

/** How much of a text counts. */
function aboutText(spec: Record<string, unknown>): string {
  const n = Array.isArray(spec.words) ? spec.words.length : 0;
  return plural(n, { one: "The model knows # word; it skips others.", other: "The model knows # words; it skips others." });
}

/** How a number is written, where the dataset does not write it as programs do. */
function aboutFormat({ number_format }: Record<string, unknown>): string {
  if (number_format === "comma") return t`As the dataset writes it: 1.234,56.`;
  return number_format === "point" ? t`As the dataset writes it: 1,234.56.` : "";
}

/** What an empty field of numbers or of dates stands for. */
function absent(kind: InputColumn["kind"], spec: Record<string, unknown>): string {
  const empty = kind === "number" && spec.from === "word" ? t`Empty or no number` : t`Empty`;
  if (spec.indicator === true) return t`${empty}: missing, as in training.`;
  const mean = kind === "number" && typeof spec.mean === "number" ? `, ${number(spec.mean)}` : "";
  return t`${empty}: the mean${mean}.`;
}

/** By column: the least and the greatest number or date that inspection found. */
function rangesOf(statistics: unknown): Map<string, string> {
  const columns = isRecord(statistics) && Array.isArray(statistics.columns) ? statistics.columns.filter(isRecord) : [];
  return new Map(
    columns.flatMap(({ name, min, max, first, last }): [string, string][] => {
      if (typeof min === "number" && typeof max === "number") {
        return [[String(name), t`${number(min)} to ${number(max)} in the dataset.`]];
      }
      if (typeof first === "string" && typeof last === "string") {
        return [[String(name), t`${first.slice(0, 10)} to ${last.slice(0, 10)} in the dataset.`]];
      }
      return [];
    }),
  );
}

/** What can be chosen in a column of categories: a place among them, so that no word of the data is taken for another choice. */
export const OTHER = "other";
export const MISSING = "missing";

export function choicesOf({ words }: InputColumn): { value: string; label: string }[] {
  const known = words.flatMap((word, place) => (word === "" ? [] : [{ value: String(place), label: word }]));
  return [...known, { value: OTHER, label: t`(another category)` }, { value: MISSING, label: t`(missing)` }];
}

/** The row of a table: what was typed, so that the model itself says what is no number; null where it is missing. */
export function tableRow(columns: InputColumn[], { columns: values, others }: Pick<RowValues, "columns" | "others">): Record<string, string | null> {
  return Object.fromEntries(columns.map((each) => [each.name, cellOf(each, valueOf(each, values), others[each.name] ?? "") || null]));
}

function cellOf({ kind, words }: InputColumn, value: string, other: string): string {
  if (kind !== "category") return value;
  if (value === OTHER) return other.trim();
  return value === MISSING ? "" : (words[Number(value)] ?? "");
}

/** The value that a column's field shows. */
export function valueOf(column: InputColumn, values: Record<string, string>): string {
  return values[column.name] ?? (column.kind === "category" ? (choicesOf(column)[0]?.value ?? "") : "");
}

export function numbersRow(text: string): { x: (number | null)[] } {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  return { x: parts.map((part) => (Number.isFinite(Number(part)) ? Number(part) : null)) };
}

export interface Bar {
  name: string;
  value: number;
}

const MOST_BARS = 10;

/** The most probable classes, or the most probable next tokens of a text; the first one first. */
export function barsOf(prediction: Record<string, unknown>): Bar[] {
  const { probabilities, next } = prediction;
  const bars = Array.isArray(next)
    ? next.filter(isRecord).map(({ text, probability }) => ({ name: JSON.stringify(text), value: Number(probability) }))
    : Object.entries(isRecord(probabilities) ? probabilities : {}).map(([name, value]) => ({ name, value: Number(value) }));
  return bars.sort((one, other) => other.value - one.value).slice(0, MOST_BARS);
}

/** The answer in a few words; undefined for texts, whose bars say it. */
export function answerOf({ prediction, output }: Record<string, unknown>): string | undefined {
  if (typeof prediction === "number") return number(prediction);
  if (typeof prediction === "string") return prediction;
  return Array.isArray(output) ? JSON.stringify(output) : undefined;
}

/** By column, categories that training did not see: they count as none of those that the model knows. */
export function unseenOf({ unseen }: Record<string, unknown>): [column: string, word: string][] {
  return Object.entries(isRecord(unseen) ? unseen : {}).map(([column, word]) => [column, String(word)]);
}
