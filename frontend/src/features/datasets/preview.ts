// SPDX-License-Identifier: Apache-2.0
// A dataset's preview, one of three kinds; anything else is no preview.
import { isRecord } from "@/api/client";

export type Preview =
  | { kind: "table"; columns: string[]; rows: string[][] }
  | { kind: "images"; images: { label: string; png_base64: string }[] }
  | { kind: "text"; lines: { label: string | undefined; text: string }[] };

export function asPreview(value: unknown): Preview | null {
  if (!isRecord(value)) return null;
  const { kind, columns, rows, images, lines } = value;
  if (kind === "table" && Array.isArray(columns) && Array.isArray(rows)) {
    return { kind, columns: columns.map(shown), rows: rows.map((row) => (Array.isArray(row) ? row.map(shown) : [])) };
  }
  if (kind === "images" && Array.isArray(images)) {
    const sound = images.filter((image) => isRecord(image) && typeof image.png_base64 === "string");
    return {
      kind,
      images: sound.map((image: { label?: unknown; png_base64: string }) => ({
        label: shown(image.label),
        png_base64: image.png_base64,
      })),
    };
  }
  if (kind === "text" && Array.isArray(lines)) {
    return { kind, lines: lines.map(asLine) };
  }
  return null;
}

function asLine(line: unknown): { label: string | undefined; text: string } {
  if (!isRecord(line)) return { label: undefined, text: shown(line) };
  const isLabelled = line.label !== undefined && line.label !== null;
  return { label: isLabelled ? shown(line.label) : undefined, text: shown(line.text) };
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(Math.round(value * 1e4) / 1e4);
  if (typeof value === "object") return JSON.stringify(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
