// SPDX-License-Identifier: Apache-2.0
// The table of jobs: only the rows in view are in the page; on phones each is a card. Keys and clicks act on rows.
import { t } from "@lingui/core/macro";
import { UnstyledButton } from "@mantine/core";
import { useElementSize, useMediaQuery, useMergedRef } from "@mantine/hooks";
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, memo, useEffect, useMemo, useRef } from "react";

import { useChanges } from "@/api/live/changes";
import { isMoving } from "@/domain/states/jobState";

import { COLUMNS, type ColumnName, fitting, leastWidth } from "./columns";
import { JobCard } from "./JobCard";
import type { JobRow } from "./tableRows";
import { type Choice, useRowKeys } from "./useRowKeys";
import classes from "./JobTable.module.css";

interface Props {
  jobs: readonly JobRow[];
  columns: readonly ColumnName[];
  /** Such as "name" or "-name"; undefined: the newest first. */
  sort: string | undefined;
  onSort: (sort: string) => void;
  selected: ReadonlySet<string>;
  onSelect: (ids: readonly string[], isSelected: boolean) => void;
  /** Whether there are rows behind the last one; they are asked for when one scrolls near them. */
  hasMore: boolean;
  onNearEnd: () => void;
  /** Asked for the moving rows in view when jobs have made progress. */
  onRefresh: (ids: readonly string[]) => Promise<void>;
  /** null: there is no room for a job next to the table. */
  choice: Choice | null;
}

const ROW_PX = 36;
const CARD_PX = 108;
const OVERSCAN = 10;
const NEAR_ROWS = 30;
const CHECKBOX_PX = 36;

export function JobTable({ jobs, columns: wanted, sort, onSort, selected, onSelect, hasMore, onNearEnd, onRefresh, choice }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { ref: measured, width } = useElementSize();
  const frame = useMergedRef(box, measured);
  const isWide = useMediaQuery("(min-width: 48em)", true, { getInitialValueInEffect: false });
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => box.current,
    estimateSize: () => (isWide ? ROW_PX : CARD_PX),
    getItemKey: (index) => jobs[index]?.id ?? index,
    overscan: OVERSCAN,
    // the chosen row stays in the page: the keyboard comes back to it
    rangeExtractor: (range) => withIndex(defaultRangeExtractor(range), jobs.findIndex(({ id }) => id === choice?.chosen)),
    useFlushSync: false, // rows may come a frame after the scrolling, which they must not hold up
  });
  const items = virtualizer.getVirtualItems();
  const last = virtualizer.range?.endIndex ?? 0;
  useEffect(() => {
    if (hasMore && last >= jobs.length - NEAR_ROWS) onNearEnd();
  }, [hasMore, last, jobs.length, onNearEnd]);
  useProgress(items.flatMap(({ index }) => jobs[index] ?? []), onRefresh);

  /** At once where the row is in the page, so that the next key finds it there. */
  function focusRow(index: number) {
    const row = () => box.current?.querySelector<HTMLElement>(`[data-index="${index}"]`);
    virtualizer.scrollToIndex(index);
    const there = row();
    if (there) there.focus({ preventScroll: true });
    else requestAnimationFrame(() => row()?.focus());
  }

  const { onKeyDown, onClick } = useRowKeys({ jobs, choice, selected, onSelect, focusRow });

  const isBeside = choice?.chosen !== undefined;
  const columns = useMemo(() => (isBeside ? fitting(wanted, width - CHECKBOX_PX) : wanted), [isBeside, wanted, width]);
  const tracks = useMemo(() => tracksOf(columns), [columns]);
  const isAll = jobs.length > 0 && jobs.every(({ id }) => selected.has(id));
  return (
    <div
      ref={frame}
      className={classes.frame}
      role="table"
      aria-label={t`Jobs`}
      aria-rowcount={hasMore ? -1 : jobs.length + 1}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup">
        <div role="row" className={classes.head} style={isWide ? tracks : { padding: "0 12px" }}>
          <div role="columnheader" className={isWide ? classes.cell : undefined}>
            <label className={classes.all}>
              <input
                type="checkbox"
                ref={(input) => {
                  if (input !== null) input.indeterminate = !isAll && selected.size > 0;
                }}
                className={classes.select}
                aria-label={t`Select all jobs that are shown`}
                checked={isAll}
                onChange={() => onSelect(jobs.map(({ id }) => id), !isAll)}
              />
              {!isWide && t`Select all`}
            </label>
          </div>
          {isWide && columns.map((name) => <Head key={name} name={name} sort={sort} onSort={onSort} />)}
        </div>
      </div>
      <div role="rowgroup" className={classes.rows} data-leads={choice !== null || undefined} style={{ height: virtualizer.getTotalSize() }} onClick={onClick}>
        {items.map(({ key, index, start }) => {
          const job = jobs[index];
          if (job === undefined) return null;
          return (
            <Row
              key={key}
              job={job}
              index={index}
              start={start}
              columns={isWide ? columns : null}
              tracks={tracks}
              isSelected={selected.has(job.id)}
              isChosen={job.id === choice?.chosen}
              onSelect={onSelect}
              measure={virtualizer.measureElement}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  job: JobRow;
  index: number;
  /** Pixels from the top of the table. */
  start: number;
  /** null: as a card. */
  columns: readonly ColumnName[] | null;
  tracks: CSSProperties;
  isSelected: boolean;
  /** Whether it is shown next to the table. */
  isChosen: boolean;
  onSelect: (ids: readonly string[], isSelected: boolean) => void;
  measure: (node: Element | null) => void;
}

/** Rendered once: while one scrolls only the rows that come into view are new. */
const Row = memo(function Row({ job, index, start, columns, tracks, isSelected, isChosen, onSelect, measure }: RowProps) {
  const select = (
    <input
      type="checkbox"
      className={classes.select}
      aria-label={t`Select ${job.name}`}
      checked={isSelected}
      onChange={() => onSelect([job.id], !isSelected)}
    />
  );
  return (
    <div
      ref={columns === null ? measure : undefined}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      data-job={job.id}
      aria-current={isChosen || undefined}
      data-selected={isSelected || undefined}
      tabIndex={-1}
      className={columns === null ? classes.card : classes.row}
      style={{ transform: `translateY(${start}px)`, ...(columns !== null && tracks) }}
    >
      {columns === null ? (
        <JobCard job={job} select={select} />
      ) : (
        <>
          <div role="cell" className={classes.cell}>
            {select}
          </div>
          {columns.map((name) => (
            <Cell key={name} name={name} job={job} />
          ))}
        </>
      )}
    </div>
  );
});

function Cell({ name, job }: { name: ColumnName; job: JobRow }) {
  const { cell, title, isNumber } = COLUMNS[name];
  const kind = [classes.cell, isNumber ? classes.number : "", name === "name" ? classes.pinned : ""].join(" ");
  return (
    <div role="cell" className={kind} dir={title === undefined ? undefined : "auto"} title={title?.(job) || undefined}>
      {cell(job)}
    </div>
  );
}

function withIndex(indexes: number[], index: number): number[] {
  return index < 0 || indexes.includes(index) ? indexes : [...indexes, index].sort((a, b) => a - b);
}

function tracksOf(columns: readonly ColumnName[]): CSSProperties {
  const template = [`${CHECKBOX_PX}px`, ...columns.map((name) => COLUMNS[name].width)].join(" ");
  return { gridTemplateColumns: template, minWidth: CHECKBOX_PX + leastWidth(columns) };
}

/** A column's name; one by which the API sorts is a button: the greatest or newest first, then the other way round. */
function Head({ name, sort, onSort }: { name: ColumnName; sort: string | undefined; onSort: (sort: string) => void }) {
  const { label, sort: key, isNumber } = COLUMNS[name];
  const shown = sort ?? "-created";
  const direction = shown === key ? "ascending" : shown === `-${key}` ? "descending" : "none";
  const kind = [classes.cell, isNumber ? classes.number : "", name === "name" ? classes.pinned : ""].join(" ");
  if (key === undefined) {
    return (
      <div role="columnheader" className={kind}>
        {label}
      </div>
    );
  }
  const next = direction === "descending" || (direction === "none" && (key === "name" || key === "finish")) ? key : `-${key}`;
  return (
    <div role="columnheader" aria-sort={direction} className={kind}>
      <UnstyledButton className={classes.sort} onClick={() => onSort(next)} title={t`Sort by ${label.toLowerCase()}`}>
        {label} {direction === "ascending" ? "↑" : direction === "descending" ? "↓" : ""}
      </UnstyledButton>
    </div>
  );
}

/** Events bring changes of state; how far the moving jobs in view are is asked for when progress is reported. */
function useProgress(inView: readonly JobRow[], refresh: (ids: readonly string[]) => Promise<void>) {
  const current = useRef<{ ids: string[]; refresh: typeof refresh }>({ ids: [], refresh });
  useEffect(() => {
    current.current = { ids: inView.filter(isMoving).map(({ id }) => id), refresh };
  });
  useChanges("progress", () => {
    const { ids, refresh: ask } = current.current;
    if (ids.length > 0 && !document.hidden) void ask(ids).catch(() => undefined); // the next one may succeed
  });
}
