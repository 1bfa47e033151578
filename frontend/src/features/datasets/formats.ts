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
