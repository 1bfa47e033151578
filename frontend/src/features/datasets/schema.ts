// SPDX-License-Identifier: Apache-2.0
// What inspection found in a dataset, read with care: its shape is the readers' own.
import { plural, t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import { bytes, number } from "@/lib/quantities";

export interface DatasetClass {
  name: string;
  n: number | undefined;
}

const TASKS: Record<string, string> = {
  classification: t`Classification`,
  regression: t`Regression`,
  language_modelling: t`Language modelling`,
  none: t`No targets: to predict on`,
  files: t`Files, for scripts and notebooks`,
};

const TOKENS: Record<string, string> = {
  bpe: t`Byte pairs learnt from the text`,
  word: t`Whole words`,
  byte: t`Single bytes`,
};

/** "1,797 examples, 10 classes"; "–" before inspection. */
export function summary(schema: unknown): string {
  if (!isRecord(schema)) return "–";
  const parts = [];
  if (typeof schema.n_examples === "number") parts.push(plural(schema.n_examples, { one: "# example", other: "# examples" }));
  if (typeof schema.n_classes === "number") parts.push(t`${number(schema.n_classes)} classes`);
  if (typeof schema.n_files === "number") parts.push(plural(schema.n_files, { one: "# file", other: "# files" }));
  return parts.join(", ") || "–";
}

export function schemaFacts(schema: unknown): [string, string][] {
  if (!isRecord(schema)) return [];
  const facts: [string, string][] = [];
  if (typeof schema.task === "string") facts.push([t`Task`, TASKS[schema.task] ?? schema.task]);
  if (typeof schema.n_examples === "number") facts.push([t`Examples`, number(schema.n_examples)]);
  if (typeof schema.n_files === "number") facts.push([t`Files in it`, number(schema.n_files)]);
  if (typeof schema.n_bytes === "number") facts.push([t`Size unpacked`, bytes(schema.n_bytes)]);
  if (typeof schema.n_classes === "number") facts.push([t`Classes`, number(schema.n_classes)]);
  if (Array.isArray(schema.input_shape)) facts.push([t`Shape of an input`, schema.input_shape.map(String).join(" × ")]);
  if (typeof schema.sample_rate === "number") facts.push([t`Sample rate`, t`${number(schema.sample_rate)} Hz`]);
  const seconds = exampleSeconds(schema);
  if (seconds !== undefined) facts.push([t`Length of an example`, t`${number(Number(seconds.toPrecision(3)))} s`]);
  if (Array.isArray(schema.columns)) facts.push([t`Columns`, number(schema.columns.length)]);
  const tokens = isRecord(schema.tokenizer) ? schema.tokenizer.kind : undefined;
  if (typeof tokens === "string") facts.push([t`Tokens`, TOKENS[tokens] ?? tokens]);
  if (typeof schema.vocabulary_size === "number") facts.push([t`Vocabulary`, number(schema.vocabulary_size)]);
  if (typeof schema.context_length === "number") {
    facts.push([t`Length of an example`, t`${number(schema.context_length)} tokens`]);
  }
  return facts;
}

/** Seconds of an example of audio; undefined for other data. */
export function exampleSeconds(schema: unknown): number | undefined {
  if (!isRecord(schema) || !Array.isArray(schema.input_shape) || typeof schema.sample_rate !== "number") return undefined;
  return Number(schema.input_shape.at(-1)) / schema.sample_rate;
}

/** The classes, with how many examples each has where that was counted. */
export function classesOf(schema: unknown): DatasetClass[] {
  if (!isRecord(schema) || !Array.isArray(schema.classes)) return [];
  const counts: unknown = schema.class_counts;
  return schema.classes.map((each: unknown, index) => {
    const name = String(each);
    const counted: unknown = Array.isArray(counts) ? counts[index] : isRecord(counts) ? counts[name] : undefined;
    return { name, n: typeof counted === "number" ? counted : undefined };
  });
}
