// SPDX-License-Identifier: Apache-2.0
// A dataset's preview, one of five kinds; anything else is no preview.
import { isRecord } from "@/api/client";

export type Preview =
  | { kind: "table"; columns: string[]; rows: string[][] }
  | { kind: "images"; images: { label: string; png_base64: string }[] }
  | { kind: "audio"; clips: Clip[] }
  | { kind: "files"; files: { name: string; size_bytes: number }[]; n_files: number; suffixes: FileKind[] }
  | { kind: "text"; lines: { label: string | undefined; text: string }[] };

export interface FileKind {
  suffix: string;
  n_files: number;
  size_bytes: number;
}

export interface Clip {
  name: string;
  label: string;
  duration_s: number;
  sample_rate: number;
  channels: number;
  is_playable: boolean;
  /** The loudness of each part, from 0 to 1. */
  waveform: number[];
}

export function asPreview(value: unknown): Preview | null {
  if (!isRecord(value)) return null;
  const { kind, columns, rows, images, clips, lines, files, suffixes } = value;
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
  if (kind === "audio" && Array.isArray(clips)) return { kind, clips: clips.filter(isRecord).map(asClip) };
  if (kind === "text" && Array.isArray(lines)) {
    return { kind, lines: lines.map(asLine) };
  }
  if (kind === "files" && Array.isArray(files)) {
    const sound = files.filter(isRecord).map((file) => ({ name: shown(file.name), size_bytes: count(file.size_bytes) }));
    const kinds = Array.isArray(suffixes) ? suffixes.filter(isRecord) : [];
    return {
      kind,
      files: sound,
      n_files: count(value.n_files),
      suffixes: kinds.map((one) => ({ suffix: shown(one.suffix), n_files: count(one.n_files), size_bytes: count(one.size_bytes) })),
    };
  }
  return null;
}

function asClip(clip: Record<string, unknown>): Clip {
  return {
    name: shown(clip.name),
    label: shown(clip.label),
    duration_s: count(clip.duration_s),
    sample_rate: count(clip.sample_rate),
    channels: count(clip.channels),
    is_playable: clip.is_playable === true,
    waveform: Array.isArray(clip.waveform) ? clip.waveform.map(count) : [],
  };
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
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
