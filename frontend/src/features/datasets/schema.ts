// SPDX-License-Identifier: Apache-2.0
// What inspection found in a dataset, read with care: its shape is the readers' own.
import { isRecord } from "@/api/client";
import { count, number } from "@/lib/quantities";

export interface DatasetClass {
  name: string;
  n: number | undefined;
}

const TASKS: Record<string, string> = {
  classification: "Classification",
  regression: "Regression",
  language_modelling: "Language modelling",
  none: "No targets: to predict on",
};

const TOKENS: Record<string, string> = {
  bpe: "Byte pairs learnt from the text",
  word: "Whole words",
  byte: "Single bytes",
};

/** "1,797 examples, 10 classes"; "–" before inspection. */
export function summary(schema: unknown): string {
  if (!isRecord(schema)) return "–";
  const parts = [];
  if (typeof schema.n_examples === "number") parts.push(count(schema.n_examples, "example"));
  if (typeof schema.n_classes === "number") parts.push(`${number(schema.n_classes)} classes`);
  return parts.join(", ") || "–";
}

export function schemaFacts(schema: unknown): [string, string][] {
  if (!isRecord(schema)) return [];
  const facts: [string, string][] = [];
  if (typeof schema.task === "string") facts.push(["Task", TASKS[schema.task] ?? schema.task]);
  if (typeof schema.n_examples === "number") facts.push(["Examples", number(schema.n_examples)]);
  if (typeof schema.n_classes === "number") facts.push(["Classes", number(schema.n_classes)]);
  if (Array.isArray(schema.input_shape)) facts.push(["Shape of an input", schema.input_shape.map(String).join(" × ")]);
  if (Array.isArray(schema.columns)) facts.push(["Columns", number(schema.columns.length)]);
  const tokens = isRecord(schema.tokenizer) ? schema.tokenizer.kind : undefined;
  if (typeof tokens === "string") facts.push(["Tokens", TOKENS[tokens] ?? tokens]);
  if (typeof schema.vocabulary_size === "number") facts.push(["Vocabulary", number(schema.vocabulary_size)]);
  if (typeof schema.context_length === "number") {
    facts.push(["Length of an example", `${number(schema.context_length)} tokens`]);
  }
  return facts;
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
