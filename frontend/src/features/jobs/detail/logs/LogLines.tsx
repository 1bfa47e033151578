// SPDX-License-Identifier: Apache-2.0
// The lines of a log: only those in view are in the page. It asks for more near its ends, and keeps its place meanwhile.
import { plural, t } from "@lingui/core/macro";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ClipboardEvent, type ReactNode, memo, useEffect, useLayoutEffect, useRef } from "react";

import type { LogLine } from "@/api/types";
import { dateLocale } from "@/locales/locale";

import classes from "./LogView.module.css";
import { type LogRow, hasLine } from "./logRows";

/** The seqs of the first and the last line in view. */
export interface LogViewport {
  top: number;
  bottom: number;
}

interface Props {
  rows: readonly LogRow[];
  follows: boolean;
  /** The line to bring into view and to mark, each object once. */
  target: { seq: number } | null;
  onView: (view: LogViewport) => void;
  /** The reader opened or folded the traceback that this line ends. */
  onToggle: (seq: number) => void;
  /** The reader scrolled up. */
  onLeaveEnd: () => void;
  /** The reader is near the first or the last line that is there. */
  onNearStart: () => void;
  onNearEnd: () => void;
  /** In place of lines when there are none. */
  empty: ReactNode;
  /** Behind a line, such as a button. */
  action?: ((line: LogLine) => ReactNode) | undefined;
}

interface Seen {
  firstSeq: number;
  topSeq: number;
  scrollTop: number;
  /** The last one that was brought into view. */
  target: Props["target"];
}

const LINE_PX = 18;
const NEAR_PX = 400;
const END_PX = 40;
const OVERSCAN = 20;

export function LogLines({ rows, follows, target, onView, onToggle, onLeaveEnd, onNearStart, onNearEnd, empty, action }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useRef<Seen>({ firstSeq: -1, topSeq: -1, scrollTop: 0, target: null });
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    getItemKey: (index) => rows[index]?.line.seq ?? index,
    overscan: OVERSCAN,
    useFlushSync: false, // lines may come a frame after the scrolling, which they must not hold up
  });

  // Before painting, so that a scroll event never sees new lines with the old position.
  useLayoutEffect(() => {
    const { firstSeq, topSeq } = seen.current;
    const first = rows[0]?.line.seq ?? -1;
    const wanted = target === null || target === seen.current.target ? -1 : rows.findIndex((row) => hasLine(row, target.seq));
    seen.current.firstSeq = first;
    if (wanted >= 0) {
      seen.current.target = target;
      virtualizer.scrollToIndex(wanted, { align: "center" });
    } else if (follows && rows.length > 0) virtualizer.scrollToIndex(rows.length - 1, { align: "end" });
    else if (first < firstSeq) {
      // earlier lines came before those in view
      const place = rows.findIndex(({ line }) => line.seq >= topSeq);
      if (place > 0) virtualizer.scrollToIndex(place, { align: "start" });
    }
  }, [rows, follows, target, virtualizer]);

  const top = rows[virtualizer.range?.startIndex ?? 0]?.line.seq;
  const bottom = rows[virtualizer.range?.endIndex ?? 0]?.line.seq;
  useEffect(() => {
    if (top === undefined || bottom === undefined) return;
    seen.current.topSeq = top;
    onView({ top, bottom });
  }, [top, bottom, onView]);

  function onScroll({ scrollTop, scrollHeight, clientHeight }: HTMLElement) {
    const isAtEnd = scrollHeight - scrollTop - clientHeight < END_PX;
    if (scrollTop < seen.current.scrollTop - 1 && !isAtEnd) onLeaveEnd();
    seen.current = { ...seen.current, scrollTop, topSeq: rows[virtualizer.range?.startIndex ?? 0]?.line.seq ?? -1 };
    if (scrollTop < NEAR_PX) onNearStart();
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) onNearEnd();
  }

  /** What is folded is copied, too. */
  function onCopy(event: ClipboardEvent<HTMLElement>) {
    const selection = document.getSelection();
    if (selection === null || selection.isCollapsed) return;
    const picked = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-index]")]
      .filter((node) => selection.containsNode(node, true))
      .map((node) => Number(node.dataset.index))
      .sort((a, b) => a - b)
      .flatMap((index) => rows[index] ?? []);
    if (!picked.some(({ isFolded }) => isFolded)) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", picked.flatMap(linesOf).map(({ text }) => text).join("\n"));
  }

  return (
    <div
      ref={box}
      className={classes.box}
      role="log"
      aria-label={t`Log`}
      aria-live="off"
      tabIndex={0}
      onScroll={(event) => onScroll(event.currentTarget)}
      onCopy={onCopy}
    >
      {rows.length === 0 && empty}
      <div className={classes.lines} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <Line
              key={key}
              row={row}
              index={index}
              start={start}
              isTarget={target !== null && hasLine(row, target.seq)}
              measure={virtualizer.measureElement}
              onToggle={onToggle}
              action={action}
            />
          );
        })}
      </div>
    </div>
  );
}

interface LineProps {
  row: LogRow;
  index: number;
  /** Pixels from the top of the log. */
  start: number;
  isTarget: boolean;
  measure: (node: Element | null) => void;
  onToggle: (seq: number) => void;
  action: ((line: LogLine) => ReactNode) | undefined;
}

/** Rendered once: while one scrolls only the lines that come into view are new. */
const Line = memo(function Line({ row, index, start, isTarget, measure, onToggle, action }: LineProps) {
  const { line, traceback, isFolded } = row;
  const nMore = traceback.length - 1;
  return (
    <div
      ref={measure}
      data-index={index}
      className={line.n_dropped > 0 ? classes.gap : classes.line}
      data-error={line.is_error || traceback.length > 0 || undefined}
      aria-current={isTarget || undefined}
      style={{ transform: `translateY(${start}px)` }}
      title={line.at === null ? undefined : new Date(line.at).toLocaleString(dateLocale())}
    >
      <span className={classes.pod}>{podOf(line)}</span> {line.text}
      {traceback.length > 0 && (
        <button type="button" className={classes.fold} aria-expanded={!isFolded} onClick={() => onToggle(line.seq)}>
          {isFolded ? t`${plural(nMore, { one: "# more line", other: "# more lines" })}` : t`Fold traceback`}
        </button>
      )}
      {action?.(line)}
    </div>
  );
});

/** All lines that the row stands for. */
function linesOf({ line, traceback, isFolded }: LogRow): readonly LogLine[] {
  return isFolded ? traceback : [line];
}

/** "worker 0", and from the second attempt on "worker 0 · #2". */
function podOf(line: LogLine): string {
  const name = `${line.role} ${line.index}`;
  return line.attempt_number > 1 ? `${name} · #${line.attempt_number}` : name;
}
