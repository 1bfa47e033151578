// SPDX-License-Identifier: Apache-2.0
// The formats a dataset may come in: the names of their files, and which options each has.
import { t } from "@lingui/core/macro";

import type { DatasetFormat } from "@/api/types";

interface FormatDeclaration {
  label: string;
  /** In the upload's hint. */
  short: string;
  /** Of the files that are taken to be of this format unless another is chosen (the API guesses likewise). */
  suffixes: readonly string[];
  /** Whether a column is named as the target. */
  hasTargetColumn: boolean;
  /** Of the field for the target, where it is no column of a table. */
  target?: { label: string; description: string };
  /** Whether it may come without targets, only to predict on. */
  mayLackTargets: boolean;
  /** Whether it is split into tokens and documents. */
  isTokenized: boolean;
  /** Whether it is of texts in lines with fields, not of documents. */
  isOfLines?: boolean;
  /** Whether it is of pictures, which may have a size of their own. */
  isOfImages?: boolean;
  /** Whether it is of clips of audio, which get one sample rate and one length. */
  isOfAudio?: boolean;
}

export const DATASET_FORMATS: Record<DatasetFormat, FormatDeclaration> = {
  npz: {
    label: t`NumPy arrays (.npz)`,
    short: "NPZ",
    suffixes: ["npz"],
    hasTargetColumn: false,
    mayLackTargets: true,
    isTokenized: false,
  },
  csv: {
    label: t`CSV table (.csv)`,
    short: "CSV",
    suffixes: ["csv"],
    hasTargetColumn: true,
    mayLackTargets: true,
    isTokenized: false,
  },
  parquet: {
    label: t`Parquet table (.parquet)`,
    short: t`Parquet`,
    suffixes: ["parquet", "pq"],
    hasTargetColumn: true,
    mayLackTargets: true,
    isTokenized: false,
  },
  json_lines: {
    label: t`JSON lines (.jsonl)`,
    short: t`JSON lines`,
    suffixes: ["jsonl", "ndjson"],
    hasTargetColumn: true,
    mayLackTargets: true,
    isTokenized: false,
  },
  image_folder: {
    label: t`Images in folders (.zip)`,
    short: t`a zip with one folder of images for each class`,
    suffixes: ["zip"],
    hasTargetColumn: false,
    mayLackTargets: true,
    isTokenized: false,
    isOfImages: true,
  },
  webdataset: {
    label: t`WebDataset shards (.tar)`,
    short: t`WebDataset shards`,
    suffixes: ["tar"],
    hasTargetColumn: true,
    target: {
      label: t`Field of the class`,
      description: t`In the JSON of each sample. Left empty: the .cls file, else target, label, class, cls or y of the JSON.`,
    },
    mayLackTargets: true,
    isTokenized: false,
    isOfImages: true,
  },
  audio_folder: {
    label: t`Audio in folders (.zip, .tar)`,
    short: t`a zip or tar with one folder of audio for each class`,
    // shared with images and shards: what the archive holds decides
    suffixes: [],
    hasTargetColumn: true,
    target: {
      label: t`Field of the class`,
      description: t`In the JSON next to each clip of a tar. Left empty: the folder, the .cls file or the usual fields.`,
    },
    mayLackTargets: true,
    isTokenized: false,
    isOfAudio: true,
  },
  text: {
    label: t`Text (.txt)`,
    short: t`plain text`,
    suffixes: ["txt", "text"],
    hasTargetColumn: false,
    // the next token is the target
    mayLackTargets: false,
    isTokenized: true,
  },
  text_lines: {
    label: t`Texts in JSON lines (.jsonl)`,
    short: t`texts in JSON lines`,
    // shared with tables: what the lines hold decides
    suffixes: [],
    hasTargetColumn: true,
    target: {
      label: t`Field of the label`,
      description: t`Left empty: target, label, class or y. Without any of them a language model learns the texts.`,
    },
    mayLackTargets: true,
    isTokenized: true,
    isOfLines: true,
  },
  files: {
    label: t`Files of any kind, for scripts`,
    short: t`files of any kind for scripts`,
    // chosen, or a folder in which nothing else is recognised
    suffixes: [],
    hasTargetColumn: false,
    mayLackTargets: false,
    isTokenized: false,
  },
};

const PICTURES = ["png", "jpg", "jpeg", "gif", "bmp", "webp", "tif", "tiff", "ppm", "pgm"];
const AUDIO = ["wav", "flac", "ogg", "oga", "opus", "mp3"];

/** The format of a folder, by the paths in it; undefined leaves it to the format of the zip, images in folders. */
export function formatOfFolder(names: readonly string[]): DatasetFormat | undefined {
  if (names.every((name) => formatOfFile(name) === "webdataset")) return "webdataset";
  const areInFolders = names.every((name) => name.includes("/"));
  if (areInFolders && names.every((name) => AUDIO.includes(suffixOf(name)))) return "audio_folder";
  const areClasses = areInFolders && names.every((name) => PICTURES.includes(suffixOf(name)));
  return areClasses ? undefined : "files";
}

const TEXT_FIELDS = new Set(["text", "label", "class", "target", "y", "split"]);
const FIRST_BYTES = 2 ** 16;

/** Whether the first of JSON lines has a text, and besides at most a label and a part; the API guesses likewise. */
export async function holdsTexts(file: File): Promise<boolean> {
  if (formatOfFile(file.name) !== "json_lines") return false;
  try {
    const first: unknown = JSON.parse((await file.slice(0, FIRST_BYTES).text()).split("\n", 1)[0] ?? "");
    if (typeof first !== "object" || first === null || !("text" in first) || typeof first.text !== "string") return false;
    return Object.keys(first).every((name) => TEXT_FIELDS.has(name));
  } catch {
    return false;
  }
}

const ENTRIES = Object.entries(DATASET_FORMATS) as [DatasetFormat, FormatDeclaration][];

/** What a file chooser offers. */
export const ACCEPTED_SUFFIXES = ENTRIES.flatMap(([, { suffixes }]) => suffixes.map((suffix) => `.${suffix}`)).join(",");

export const FORMAT_CHOICES = ENTRIES.map(([value, { label }]) => ({ value, label }));

/** "NPZ, CSV, Parquet, ... or plain text." */
export const FORMATS_HINT = sentence(ENTRIES.map(([, { short }]) => short));

/** The format of a file by its name; undefined when the name does not say. */
export function formatOfFile(filename: string): DatasetFormat | undefined {
  const suffix = suffixOf(filename);
  return ENTRIES.find(([, { suffixes }]) => suffixes.includes(suffix))?.[0];
}

function suffixOf(filename: string): string {
  return filename.split(".").at(-1)?.toLowerCase() ?? "";
}

function sentence(parts: string[]): string {
  return t`${parts.slice(0, -1).join(", ")} or ${parts.at(-1) ?? ""}.`;
}
