// SPDX-License-Identifier: Apache-2.0
// Many files as one zip, as they are: pictures pack no further. Their bytes stay on the disk until they are sent; here
// they are only read once, for the checksums. Source: PKWARE's APPNOTE 6.3.10, with Zip64 where it is needed.

export interface NamedFile {
  /** With slashes, relative. */
  name: string;
  file: Blob;
}

interface Entry {
  name: Uint8Array<ArrayBuffer>;
  size: number;
  checksum: number;
  offset: number;
}

type Field = readonly [nBytes: 2 | 4 | 8, value: number];

const READ_BYTES = 4 * 2 ** 20;
const N_AT_ONCE = 16;
const LARGEST_16 = 2 ** 16 - 1;
const LARGEST_32 = 2 ** 32 - 1;
const VERSION = 45;
const UTF_8_NAMES = 2 ** 11;
const STORED = 0;
/** 1 January 1980: the time of a file is no content. */
const FIRST_DAY = 33;
const MADE_ON_UNIX = 3 * 256 + VERSION;
const PLAIN_FILE = 0o100644 * 2 ** 16;
const TABLE = checksumTable();

/** The zip's parts, the same for the same content, and a checksum of the names, sizes and checksums in it. `onRead` is
 * called with how many files have been read. Raises what reading a file raises, and the signal's reason. */
export async function zipped(files: readonly NamedFile[], onRead: (nFiles: number) => void, signal: AbortSignal) {
  const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  const parts: (Uint8Array<ArrayBuffer> | Blob)[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (let i = 0; i < sorted.length; i += N_AT_ONCE) {
    const some = sorted.slice(i, i + N_AT_ONCE);
    const checksums = await Promise.all(some.map(({ file }) => checksumOf(file, signal)));
    for (const [k, { name, file }] of some.entries()) {
      const entry = { name: new TextEncoder().encode(name), size: file.size, checksum: checksums[k] ?? 0, offset };
      const header = headerOf(entry);
      parts.push(header, file);
      directory.push(directoryEntryOf(entry));
      offset += header.length + file.size;
    }
    onRead(i + some.length);
  }
  const checksum = directory.reduce((sum, bytes) => continued(sum, bytes), 0);
  const nBytes = directory.reduce((sum, { length }) => sum + length, 0);
  return { parts: [...parts, ...directory, endOf(sorted.length, nBytes, offset)], checksum };
}

/** Also of bytes that follow others, from their checksum. The CRC-32 of zip, gzip and PNG. */
export function continued(checksum: number, bytes: Uint8Array): number {
  let left = ~checksum;
  // four times as fast as for...of
  for (let i = 0; i < bytes.length; i++) left = (TABLE[(left ^ (bytes[i] ?? 0)) & 255] ?? 0) ^ (left >>> 8);
  return ~left >>> 0;
}

async function checksumOf(file: Blob, signal: AbortSignal): Promise<number> {
  let checksum = 0;
  for (let at = 0; at < file.size; at += READ_BYTES) {
    signal.throwIfAborted();
    checksum = continued(checksum, new Uint8Array(await file.slice(at, at + READ_BYTES).arrayBuffer()));
  }
  return checksum;
}

function headerOf({ name, size, checksum }: Entry) {
  const extra = size >= LARGEST_32 ? zip64(size, size) : new Uint8Array();
  const fixed = record([4, 0x04034b50], ...described(checksum, size), [2, name.length], [2, extra.length]);
  return joined(fixed, name, extra);
}

function directoryEntryOf({ name, size, checksum, offset }: Entry) {
  const sizes = size >= LARGEST_32 ? [size, size] : [];
  const large = offset >= LARGEST_32 ? [...sizes, offset] : sizes;
  const extra = large.length > 0 ? zip64(...large) : new Uint8Array();
  const fixed = record(
    [4, 0x02014b50],
    [2, MADE_ON_UNIX],
    ...described(checksum, size),
    [2, name.length],
    [2, extra.length],
    [2, 0],
    [2, 0],
    [2, 0],
    [4, PLAIN_FILE],
    [4, Math.min(offset, LARGEST_32)],
  );
  return joined(fixed, name, extra);
}

/** What both headers of a file have in common. */
function described(checksum: number, size: number): readonly Field[] {
  const shown = Math.min(size, LARGEST_32);
  return [[2, VERSION], [2, UTF_8_NAMES], [2, STORED], [2, 0], [2, FIRST_DAY], [4, checksum], [4, shown], [4, shown]];
}

function endOf(nFiles: number, nBytes: number, offset: number) {
  const end = record(
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, Math.min(nFiles, LARGEST_16)],
    [2, Math.min(nFiles, LARGEST_16)],
    [4, Math.min(nBytes, LARGEST_32)],
    [4, Math.min(offset, LARGEST_32)],
    [2, 0],
  );
  if (nFiles < LARGEST_16 && nBytes < LARGEST_32 && offset < LARGEST_32) return end;
  const versions = [[2, MADE_ON_UNIX], [2, VERSION], [4, 0], [4, 0]] as const;
  const sizes = [[8, nFiles], [8, nFiles], [8, nBytes], [8, offset]] as const;
  const end64 = record([4, 0x06064b50], [8, 44], ...versions, ...sizes);
  return joined(end64, record([4, 0x07064b50], [4, 0], [8, offset + nBytes], [4, 1]), end);
}

function zip64(...values: number[]) {
  return record([2, 1], [2, 8 * values.length], ...values.map((value) => [8, value] as const));
}

function record(...fields: readonly Field[]) {
  const bytes = new Uint8Array(fields.reduce((sum, [nBytes]) => sum + nBytes, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [nBytes, value] of fields) {
    if (nBytes === 2) view.setUint16(at, value, true);
    else if (nBytes === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += nBytes;
  }
  return bytes;
}

function joined(...parts: readonly Uint8Array[]) {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function checksumTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
}
