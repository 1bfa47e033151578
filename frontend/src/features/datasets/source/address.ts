// SPDX-License-Identifier: Apache-2.0
// What is typed of an address, and the request that it becomes.
import type { VersionReference } from "@/api/types";
import { type FileValues, readingFields } from "@/features/datasets/upload/FileFields";
import { stemOf } from "@/lib/filenames";

export interface AddressValues {
  uri: string;
  sha256: string;
  endpoint: string;
  region: string;
  /** Names of secrets of the project, by what they are for. */
  secrets: { token: string; access_key_id: string; secret_access_key: string };
}

export const NO_ADDRESS: AddressValues = {
  uri: "",
  sha256: "",
  endpoint: "",
  region: "",
  secrets: { token: "", access_key_id: "", secret_access_key: "" },
};

export type Scheme = "https" | "s3" | "hf" | "file";

/** The addresses that were typed, one a line. */
export function linesOf(uri: string): string[] {
  return uri.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

/** Whether several files are meant, of which no one digest can hold. */
export function isOfShards(uri: string): boolean {
  return linesOf(uri).length > 1 || /\{\d+\.\.\d+|\{[^{}]*,[^{}]*\}|\*/.test(uri);
}

/** Of which kind an address is; what is not known yet is taken for https. */
export function schemeOf(uri: string): Scheme {
  const scheme = uri.trim().split("://")[0]?.toLowerCase();
  return scheme === "s3" || scheme === "hf" || scheme === "file" ? scheme : "https";
}

/** "iris.csv" of "https://example.org/data/iris.csv?v=1", the first of several; "" while there is none. */
export function filenameOf(uri: string): string {
  const path = linesOf(uri)[0]?.split("://")[1]?.split(/[?#]/)[0] ?? "";
  return path.includes("/") ? (path.split("/").at(-1) ?? "") : "";
}

/** The body of the request: only what was given, and only what an address of this kind has. */
export function requestOf(address: AddressValues, reading: FileValues): VersionReference {
  const scheme = schemeOf(address.uri);
  const { token, ...keys } = address.secrets;
  const secrets = scheme === "s3" ? given(keys) : scheme === "file" ? {} : given({ token });
  const place = scheme === "s3" ? given({ endpoint: address.endpoint, region: address.region }) : {};
  const { vocabulary_size, context_length, image_size, sample_rate, clip_s, ...words } = readingFields(reading, filenameOf(address.uri));
  return {
    ...(given(words) as Partial<VersionReference>), // the inputs offer what the API takes
    ...numbers({ vocabulary_size, context_length, image_size, sample_rate, clip_s }),
    source: {
      ...placesOf(address),
      ...place,
      ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
    },
  };
}

/** What was given, as numbers. */
function numbers<T extends Record<string, string>>(fields: T): Partial<Record<keyof T, number>> {
  const entries = Object.entries(fields).filter(([, value]) => value !== "");
  return Object.fromEntries(entries.map(([name, value]) => [name, Number(value)])) as Partial<Record<keyof T, number>>;
}

function placesOf({ uri, sha256 }: AddressValues): Pick<VersionReference["source"], "uri" | "shards" | "sha256"> {
  const lines = linesOf(uri);
  if (lines.length > 1) return { shards: lines.map((line) => ({ uri: line })) };
  return { uri: uri.trim(), ...(isOfShards(uri) ? {} : given({ sha256: sha256.toLowerCase() })) };
}

/** A name for the dataset by its file's, without what stands for the shards' numbers. */
export function nameFor(uri: string): string {
  return stemOf(filenameOf(uri).replace(/\{[^}]*\}|\*/g, "")).replace(/^[-_.]+|[-_.]+$/g, "");
}

function given<T extends Record<string, string>>(fields: T): Partial<T> {
  const entries = Object.entries(fields).map(([name, value]) => [name, value.trim()] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== "")) as Partial<T>;
}
