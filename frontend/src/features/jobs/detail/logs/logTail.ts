// SPDX-License-Identifier: Apache-2.0
// The newest lines of a job's log, each once, whatever came twice.
import type { LogLine } from "@/api/types";

export interface LogTail {
  lines: readonly LogLine[];
  isCut: boolean;
}

export const MAX_LINES = 2000;
export const NO_LINES: LogTail = { lines: [], isCut: false };

/** Both by rising seq, at most MAX_LINES, the newest. */
export function mergeLines(tail: LogTail, fresh: readonly LogLine[], isCut = false): LogTail {
  const bySeq = new Map([...tail.lines, ...fresh].map((line) => [line.seq, line]));
  const all = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
  return { lines: all.slice(-MAX_LINES), isCut: tail.isCut || isCut || all.length > MAX_LINES };
}
