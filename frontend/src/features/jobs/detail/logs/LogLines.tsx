// SPDX-License-Identifier: Apache-2.0
// The lines of a log: only those in view are in the page. It asks for more near its ends, and keeps its place meanwhile.
import { t } from "@lingui/core/macro";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, memo, useLayoutEffect, useRef } from "react";

import type { LogLine } from "@/api/types";
import { dateLocale } from "@/locales/locale";

import classes from "./LogView.module.css";

interface Props {
  lines: readonly LogLine[];
  follows: boolean;
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

const LINE_PX = 18;
const NEAR_PX = 400;
const END_PX = 40;
const OVERSCAN = 20;

export function LogLines({ lines, follows, onLeaveEnd, onNearStart, onNearEnd, empty, action }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useRef({ firstSeq: -1, topIndex: 0, scrollTop: 0 });
  // eslint-disable-next-line react-hooks/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    getItemKey: (index) => lines[index]?.seq ?? index,
    overscan: OVERSCAN,
    useFlushSync: false, // lines may come a frame after the scrolling, which they must not hold up
  });

  // Before painting, so that a scroll event never sees new lines with the old position.
  useLayoutEffect(() => {
    const { firstSeq, topIndex } = seen.current;
    const place = lines.findIndex(({ seq }) => seq === firstSeq);
    seen.current.firstSeq = lines[0]?.seq ?? -1;
    if (follows && lines.length > 0) virtualizer.scrollToIndex(lines.length - 1, { align: "end" });
    else if (place > 0) virtualizer.scrollToIndex(place + topIndex, { align: "start" }); // earlier lines came before it
  }, [lines, follows, virtualizer]);

  function onScroll({ scrollTop, scrollHeight, clientHeight }: HTMLElement) {
    const isAtEnd = scrollHeight - scrollTop - clientHeight < END_PX;
    if (scrollTop < seen.current.scrollTop - 1 && !isAtEnd) onLeaveEnd();
    seen.current = { ...seen.current, scrollTop, topIndex: virtualizer.range?.startIndex ?? 0 };
    if (scrollTop < NEAR_PX) onNearStart();
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) onNearEnd();
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
    >
      {lines.length === 0 && empty}
      <div className={classes.lines} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          return (
            <Line key={key} line={line} index={index} start={start} measure={virtualizer.measureElement} action={action} />
          );
        })}
      </div>
    </div>
  );
}

interface LineProps {
  line: LogLine;
  index: number;
  /** Pixels from the top of the log. */
  start: number;
  measure: (node: Element | null) => void;
  action: ((line: LogLine) => ReactNode) | undefined;
}

/** Rendered once: while one scrolls only the lines that come into view are new. */
const Line = memo(function Line({ line, index, start, measure, action }: LineProps) {
  return (
    <div
      ref={measure}
      data-index={index}
      className={line.n_dropped > 0 ? classes.gap : classes.line}
      style={{ transform: `translateY(${start}px)` }}
      title={line.at === null ? undefined : new Date(line.at).toLocaleString(dateLocale())}
    >
      <span className={classes.pod}>{podOf(line)}</span> {line.text}
      {action?.(line)}
    </div>
  );
});

/** "worker 0", and from the second attempt on "worker 0 · #2". */
function podOf(line: LogLine): string {
  const name = `${line.role} ${line.index}`;
  return line.attempt_number > 1 ? `${name} · #${line.attempt_number}` : name;
}
