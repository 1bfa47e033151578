// SPDX-License-Identifier: Apache-2.0
// What of a job's files can be looked at on its page, and how much of it is read.
import { Problem } from "@/api/client";

export type PreviewKind = "text" | "table" | "image";

export const HEAD_BYTES = 64 * 1024; // of texts and tables
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
const MOST_ROWS = 50;
const TEXTS = "txt log md rst json jsonl yaml yml toml ini cfg py sh out err html svg xml tex".split(" ");
const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};
const TABLES = ["csv", "tsv"];
const SEPARATORS = [",", ";", "\t", "|"]; // as datasets may have them

/** By the end of its name; null: it can only be downloaded. HTML and SVG are shown as the text that they are. */
export function previewKindOf({ name, size_bytes }: { name: string; size_bytes: number }): PreviewKind | null {
  const suffix = suffixOf(name);
  if (suffix in IMAGES) return size_bytes <= MOST_IMAGE_BYTES ? "image" : null;
  if (TABLES.includes(suffix)) return "table";
  return TEXTS.includes(suffix) ? "text" : null;
}

/** The beginning of the file as text. Bytes that are no UTF-8 become replacement characters. */
export async function readHead(address: string, sizeBytes: number): Promise<string> {
  if (sizeBytes === 0) return ""; // which has no first byte to ask for
  const bytes = await read(address, { Range: `bytes=0-${HEAD_BYTES - 1}` });
  return new TextDecoder().decode(bytes.slice(0, HEAD_BYTES));
}

/** The whole picture as an address that only an <img> is given. Its type is by its name, never by its content. */
export async function readImage(address: string, name: string): Promise<string> {
  const blob = new Blob([await read(address, {})], { type: IMAGES[suffixOf(name)] ?? "image/png" });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error("The picture could not be read."));
    reader.readAsDataURL(blob);
  });
}

/** The first rows of CSV or TSV (RFC 4180). isWhole: whether the text is the whole file; else its last row is left out. */
export function rowsOf(text: string, name: string, isWhole: boolean): string[][] {
  const separator = suffixOf(name) === "tsv" ? "\t" : separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length < MOST_ROWS; at++) {
    const sign = text[at] ?? "";
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') {
        cell += sign;
        at++;
      } else isQuoted = false;
    } else if (sign === '"' && cell === "") isQuoted = true;
    else if (sign === separator) {
      row.push(cell);
      cell = "";
    } else if (sign === "\n") {
      rows.push([...row, cell.replace(/\r$/, "")]);
      [row, cell] = [[], ""];
    } else cell += sign;
  }
  const isRest = isWhole && (cell !== "" || row.length > 0) && rows.length < MOST_ROWS;
  return isRest ? [...rows, [...row, cell]] : rows;
}

/** A comma, or what is more frequent in the first line outside of quotes. */
function separatorOf(text: string): string {
  const [head = ""] = text.replace(/"[^"]*"/g, "").split("\n", 1);
  const counts = SEPARATORS.map((sign) => head.split(sign).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ",";
}

async function read(address: string, headers: Record<string, string>): Promise<ArrayBuffer> {
  const answer = await fetch(address, { headers, credentials: "same-origin" }).catch(() => null);
  if (answer === null) throw new Problem(0, undefined);
  if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => undefined));
  return answer.arrayBuffer();
}

function suffixOf(name: string): string {
  return /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
}
