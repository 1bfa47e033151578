// SPDX-License-Identifier: Apache-2.0
// The formats a dataset may come in: the names of their files, and which options each has.
import type { DatasetFormat } from "@/api/types";

interface FormatDeclaration {
  label: string;
  /** In the upload's hint. */
  short: string;
  /** Of the files that are taken to be of this format unless another is chosen (the API guesses likewise). */
  suffixes: readonly string[];
  /** Whether a column is named as the target. */
  hasTargetColumn: boolean;
  /** Whether it may come without targets, only to predict on. */
  mayLackTargets: boolean;
  /** Whether it is split into tokens and documents. */
  isTokenized: boolean;
  /** Whether it is of pictures, which may have a size of their own. */
  isOfImages?: boolean;
}

export const DATASET_FORMATS: Record<DatasetFormat, FormatDeclaration> = {
  npz: {
    label: "NumPy arrays (.npz)",
    short: "NPZ",
    suffixes: ["npz"],
    hasTargetColumn: false,
    mayLackTargets: true,
    isTokenized: false,
  },
  csv: {
    label: "CSV table (.csv)",
    short: "CSV",
    suffixes: ["csv"],
    hasTargetColumn: true,
    mayLackTargets: true,
    isTokenized: false,
  },
  parquet: {
    label: "Parquet table (.parquet)",
    short: "Parquet",
    suffixes: ["parquet", "pq"],
    hasTargetColumn: true,
    mayLackTargets: true,
    isTokenized: false,
  },
  json_lines: {
    label: "JSON lines (.jsonl)",
    short: "JSON lines",
    suffixes: ["jsonl", "ndjson"],
    hasTargetColumn: true,
    mayLackTargets: true,
    isTokenized: false,
  },
  image_folder: {
    label: "Images in folders (.zip)",
    short: "a zip with one folder of images for each class",
    suffixes: ["zip"],
    hasTargetColumn: false,
    mayLackTargets: true,
    isTokenized: false,
    isOfImages: true,
  },
  text: {
    label: "Text (.txt)",
    short: "plain text",
    suffixes: ["txt", "text"],
    hasTargetColumn: false,
    // the next token is the target
    mayLackTargets: false,
    isTokenized: true,
  },
};

const ENTRIES = Object.entries(DATASET_FORMATS) as [DatasetFormat, FormatDeclaration][];

/** What a file chooser offers. */
export const ACCEPTED_SUFFIXES = ENTRIES.flatMap(([, { suffixes }]) => suffixes.map((suffix) => `.${suffix}`)).join(",");

export const FORMAT_CHOICES = ENTRIES.map(([value, { label }]) => ({ value, label }));

/** "NPZ, CSV, Parquet, ... or plain text." */
export const FORMATS_HINT = sentence(ENTRIES.map(([, { short }]) => short));

/** The format of a file by its name; undefined when the name does not say. */
export function formatOfFile(filename: string): DatasetFormat | undefined {
  const suffix = filename.split(".").at(-1)?.toLowerCase() ?? "";
  return ENTRIES.find(([, { suffixes }]) => suffixes.includes(suffix))?.[0];
}

function sentence(parts: string[]): string {
  return `${parts.slice(0, -1).join(", ")} or ${parts.at(-1) ?? ""}.`;
}
