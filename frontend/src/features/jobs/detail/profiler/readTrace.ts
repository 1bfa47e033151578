// SPDX-License-Identifier: Apache-2.0
// Reads a trace of a job: JSON in gzip, which a pod wrote; it may unpack to no more than this page can hold.
import { type Trace, traceOf } from "./flame";

const MOST_BYTES = 128 * 2 ** 20;

export async function readTrace(address: string): Promise<Trace> {
  const answer = await fetch(address);
  if (!answer.ok || answer.body === null) throw new Error(`The trace could not be read: HTTP ${answer.status}.`);
  const text = await unpacked(answer.body, MOST_BYTES);
  return traceOf(JSON.parse(text));
}

/** Throws when there is more than that, or when it is no gzip. */
export async function unpacked(packed: ReadableStream<Uint8Array<ArrayBuffer>>, mostBytes: number): Promise<string> {
  const reader = packed.pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.length;
    if (size > mostBytes) {
      await reader.cancel();
      throw new Error("The trace is too large for this page. Download it, and open it with Perfetto.");
    }
    parts.push(decoder.decode(read.value, { stream: true }));
  }
  return parts.join("") + decoder.decode();
}
