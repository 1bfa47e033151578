// SPDX-License-Identifier: Apache-2.0
// The table of jobs: only the rows in view are in the page; on phones each is a card. j, k, x and Enter act on rows.
import { t } from "@lingui/core/macro";
import { UnstyledButton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type KeyboardEvent, memo, useEffect, useMemo, useRef } from "react";
import { useNavigate } from "react-router";

import { useChanges } from "@/api/live/changes";
import { isMoving } from "@/domain/jobState";

import { COLUMNS, type ColumnName, leastWidth } from "./columns";
import { JobCard } from "./JobCard";
import type { JobRow } from "./tableRows";
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
}

const ROW_PX = 36;
const CARD_PX = 108;
const OVERSCAN = 10;
const NEAR_ROWS = 30;
const CHECKBOX_PX = 36;

export function JobTable({ jobs, columns, sort, onSort, selected, onSelect, hasMore, onNearEnd, onRefresh }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isWide = useMediaQuery("(min-width: 48em)", true, { getInitialValueInEffect: false });
  const navigate = useNavigate();
  // eslint-disable-next-line react-hooks/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => box.current,
    estimateSize: () => (isWide ? ROW_PX : CARD_PX),
    getItemKey: (index) => jobs[index]?.id ?? index,
    overscan: OVERSCAN,
    useFlushSync: false, // rows may come a frame after the scrolling, which they must not hold up
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= jobs.length - NEAR_ROWS) onNearEnd();
  }, [hasMore, last, jobs.length, onNearEnd]);
  useProgress(items.flatMap(({ index }) => jobs[index] ?? []), onRefresh);

  function onKeyDown(event: KeyboardEvent) {
    const row = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-index]") : null;
    const index = row === null ? -1 : Number(row.dataset["index"]);
    const job = jobs[index];
    if (event.key === "j" || event.key === "k") focusRow(Math.max(0, index + (event.key === "j" ? 1 : -1)));
    else if (event.key === "x" && job !== undefined) onSelect([job.id], !selected.has(job.id));
    else if (event.key === "Enter" && job !== undefined && event.target === row) void navigate(`/jobs/${job.id}`);
    else return;
    event.preventDefault();
  }

  function focusRow(index: number) {
    if (index >= jobs.length) return;
    virtualizer.scrollToIndex(index);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus());
  }

  const tracks = useMemo(() => tracksOf(columns), [columns]);
  const isAll = jobs.length > 0 && jobs.every(({ id }) => selected.has(id));
  return (
    <div
      ref={box}
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
      <div role="rowgroup" className={classes.rows} style={{ height: virtualizer.getTotalSize() }}>
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
  onSelect: (ids: readonly string[], isSelected: boolean) => void;
  measure: (node: Element | null) => void;
}

/** Rendered once: while one scrolls only the rows that come into view are new. */
const Row = memo(function Row({ job, index, start, columns, tracks, isSelected, onSelect, measure }: RowProps) {
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
    <div role="cell" className={kind} title={title?.(job) || undefined}>
      {cell(job)}
    </div>
  );
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
