// SPDX-License-Identifier: Apache-2.0
// The rows of a log: a line each, and one for a traceback that is folded. Lines of other pods may stand between its own.
import type { LogLine } from "@/api/types";

export interface LogRow {
  line: LogLine;
  /** The lines of the traceback that this row ends, itself included; none: it is a line like any other. */
  traceback: readonly LogLine[];
  isFolded: boolean;
}

/** frames: of the stack; ended: after the exception; gap, chained: towards a further traceback that followed from it. */
type Place = "frames" | "ended" | "gap" | "chained";

interface Begun {
  own: LogLine[];
  place: Place;
  /** How many of its own lines are a whole traceback. */
  nWhole: number;
}

const MARK = "Traceback (most recent call last):";
const PREFIX = /^\[[a-z0-9]+\]: ?/; // torchrun's: "[rank0]: "
const CHAINED = /^(During handling of the above exception, another exception|The above exception was the direct cause of)/;
const MOST_LINES = 1000; // of one traceback
const NO_LINES: readonly LogLine[] = [];

/** The lines as rows. opened: seqs of the last lines of tracebacks that are shown whole. */
export function logRows(lines: readonly LogLine[], opened: ReadonlySet<number>): LogRow[] {
  const ends = new Map(findTracebacks(lines).map((own) => [own.at(-1)?.seq ?? 0, own]));
  const hidden = new Set<number>();
  for (const [end, own] of ends) {
    if (!opened.has(end)) for (const { seq } of own) if (seq !== end) hidden.add(seq);
  }
  const shown = hidden.size === 0 ? lines : lines.filter(({ seq }) => !hidden.has(seq));
  return shown.map((line) => {
    const traceback = ends.get(line.seq) ?? NO_LINES;
    return { line, traceback, isFolded: traceback.length > 0 && !opened.has(line.seq) };
  });
}

/** Whether the row shows the line, or stands for it. */
export function hasLine({ line, traceback, isFolded }: LogRow, seq: number): boolean {
  return line.seq === seq || (isFolded && traceback.some((one) => one.seq === seq));
}

/** The lines of each complete traceback, with those of the exceptions that it followed from. */
function findTracebacks(lines: readonly LogLine[]): LogLine[][] {
  const found: LogLine[][] = [];
  const begun = new Map<string, Begun>(); // by pod
  for (const line of lines) {
    if (begun.size === 0 && !line.text.includes(MARK)) continue;
    const pod = podOf(line);
    const one = begun.get(pod);
    const text = line.text.replace(PREFIX, "").trimEnd();
    const isNext = one?.own.at(-1)?.number === line.number - 1;
    const place = one === undefined || !isNext || one.own.length >= MOST_LINES ? null : placeAfter(one.place, text);
    if (one !== undefined && place !== null) {
      one.own.push(line);
      if (place === "ended") one.nWhole = one.own.length;
      one.place = place;
      continue;
    }
    if (one !== undefined) close(one, found);
    if (text === MARK) begun.set(pod, { own: [line], place: "frames", nWhole: 0 });
    else begun.delete(pod);
  }
  for (const one of begun.values()) close(one, found);
  return found;
}

/** What a line of the same pod makes of it; null: it is none of the traceback's. */
function placeAfter(place: Place, text: string): Place | null {
  switch (place) {
    case "frames":
      return text === "" || text === MARK ? null : /^\s/.test(text) ? "frames" : "ended";
    case "ended":
      return text === "" ? "gap" : null;
    case "gap":
      return CHAINED.test(text) ? "chained" : null;
    case "chained":
      return text === "" ? "chained" : text === MARK ? "frames" : null;
  }
}

function close({ own, nWhole }: Begun, found: LogLine[][]): void {
  if (nWhole > 1) found.push(own.slice(0, nWhole));
}

function podOf({ role, index, attempt_number }: LogLine): string {
  return `${role} ${index} ${attempt_number}`;
}
