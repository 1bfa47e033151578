// The formats a dataset may come in, and the guess from a file's name (the API guesses likewise).
import type { DatasetFormat } from "@/api/types";

export const FORMATS: Record<DatasetFormat, string> = {
  npz: "NumPy arrays (.npz)",
  csv: "CSV table (.csv)",
  parquet: "Parquet table (.parquet)",
  image_folder: "Images in folders (.zip)",
  text: "Text (.txt)",
};

const BY_SUFFIX: Record<string, DatasetFormat> = {
  npz: "npz",
  csv: "csv",
  parquet: "parquet",
  pq: "parquet",
  zip: "image_folder",
  txt: "text",
  text: "text",
};

export const ACCEPT = Object.keys(BY_SUFFIX)
  .map((suffix) => `.${suffix}`)
  .join(",");

export function guessed(filename: string): DatasetFormat | undefined {
  return BY_SUFFIX[filename.split(".").at(-1)?.toLowerCase() ?? ""];
}

/** Tables have a column to predict. */
export function hasTarget(format: DatasetFormat | undefined): boolean {
  return format === "csv" || format === "parquet";
}

/** Of a text the next token is the target. */
export function mayLackTargets(format: DatasetFormat | undefined): boolean {
  return format !== undefined && format !== "text";
}

/** What becomes one token of a text; "" is MLHub's choice. */
export const TOKENIZERS = [
  { value: "", label: "Automatic: by the length of the text" },
  { value: "bpe", label: "Byte pairs learnt from the text" },
  { value: "word", label: "Whole words" },
  { value: "byte", label: "Single bytes" },
];

/** What of a text is one document; "" is the whole. */
export const DOCUMENTS = [
  { value: "", label: "The whole file is one" },
  { value: "paragraphs", label: "Each paragraph is one" },
  { value: "lines", label: "Each line is one" },
];
