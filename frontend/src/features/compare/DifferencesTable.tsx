// SPDX-License-Identifier: Apache-2.0
// What jobs and runs were asked to do and what they reached: a row each, a column for each thing in which they differ.
// One of them may be pinned as the baseline: it stays on top, and the others show how far they are from it.
import { t } from "@lingui/core/macro";
import { Button, Group, Switch, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, type RefObject, memo, useEffect, useMemo, useRef } from "react";
import { Link } from "react-router";

import { Icon } from "@/components/display/Icon";
import { JobStateBadge } from "@/components/display/JobStateBadge";
import { RunStatusBadge } from "@/components/display/RunStatusBadge";
import { saveText } from "@/lib/download";
import { number } from "@/lib/quantities";

import { differenceOf, tableText } from "./baseline";
import classes from "./DifferencesTable.module.css";
import { type Compared, type Settings, type Value, namesOf, valuesOf } from "./settings";
import { Swatch } from "./Swatch";
import { useSetting } from "@/components/chart/address/useSetting";

const ROW_PX = 34;
const NAME_PX = 200;
const STATE_PX = 124;
const COLUMN_PX = 110;
const COMPARED_COLUMN_PX = 170;

interface Props {
  compared: readonly Compared[];
  /** The id of the row that is pinned. */
  baseline: string;
  onBaseline: (id: string) => void;
}

export const DifferencesTable = memo(function DifferencesTable({ compared, baseline, onBaseline }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [same, setSame] = useSetting("same", "");
  const values = useMemo(() => compared.map(valuesOf), [compared]);
  const columns = useMemo(() => namesOf(values, same !== "1"), [values, same]);
  const rows = useMemo(() => compared.map((row, place) => ({ row, place, values: values[place] ?? NO_VALUES })), [compared, values]);
  const pinned = rows.find(({ row }) => row.id === baseline);
  const others = useMemo(() => rows.filter((each) => each !== pinned), [rows, pinned]);
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: others.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    useFlushSync: false, // rows may come a frame after the scrolling, which they must not hold up
  });
  const column_px = pinned === undefined ? COLUMN_PX : COMPARED_COLUMN_PX;
  const tracks = useMemo(
    // the least width is that of all rows, so that their columns line up
    () => ({
      gridTemplateColumns: `minmax(${NAME_PX}px, 2fr) ${STATE_PX}px ${columns.map(() => `minmax(${column_px}px, 1fr)`).join(" ")}`,
      minWidth: NAME_PX + STATE_PX + column_px * columns.length,
    }),
    [columns, column_px],
  );
  const inView = useColumnsInView(box, columns.length, column_px);
  return (
    <>
      <Group gap="sm">
        <Switch
          size="xs"
          label={t`Only what differs`}
          checked={same !== "1"}
          onChange={(event) => setSame(event.currentTarget.checked ? "" : "1")}
        />
        <Button size="xs" variant="default" onClick={() => saveText("jobs.csv", tableText(compared, columns, baseline))}>
          {t`Save the table as CSV`}
        </Button>
        <Text size="xs" c="dimmed">
          {columns.length === 0
            ? t`These jobs were asked to do the same, and reached the same.`
            : pinned === undefined
              ? t`Pin a row to see how far the others are from it.`
              : t`Compared with ${pinned.row.name}`}
        </Text>
      </Group>
      <div ref={box} className={classes.frame} role="table" aria-label={t`What differs`} aria-rowcount={compared.length + 1} aria-colcount={columns.length + 2} tabIndex={0}>
        <div role="rowgroup" className={classes.top} style={{ minWidth: tracks.minWidth }}>
          <div role="row" className={classes.head} style={tracks}>
            <div role="columnheader" className={classes.cell} data-name>
              {compared.some(({ kind }) => kind === "run") ? t`Job or run` : t`Job`}
            </div>
            <div role="columnheader" className={classes.cell}>{t`State`}</div>
            {inView.map((at) => (
              <div key={at} role="columnheader" className={classes.cell} title={columns[at]} {...placeOf(at)}>
                {columns[at]}
              </div>
            ))}
          </div>
          {pinned !== undefined && <Row {...pinned} columns={columns} inView={inView} baseline={undefined} isPinned onBaseline={onBaseline} rowIndex={2} tracks={tracks} />}
        </div>
        <div role="rowgroup" className={classes.rows} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const other = others[index];
            if (other === undefined) return null;
            return (
              <Row
                key={key}
                {...other}
                columns={columns}
                inView={inView}
                baseline={pinned?.values}
                isPinned={false}
                onBaseline={onBaseline}
                rowIndex={index + (pinned === undefined ? 2 : 3)}
                dataIndex={index}
                start={start}
                tracks={tracks}
              />
            );
          })}
        </div>
      </div>
    </>
  );
});

const NO_VALUES: Settings = new Map();
const MOST_COLUMNS = 16; // of more only those in view are made

/** The places of the columns that are in view, or nearly; of a few all. The same list until others are. */
function useColumnsInView(box: RefObject<HTMLDivElement | null>, n: number, column_px: number): readonly number[] {
  const isMany = n > MOST_COLUMNS;
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    horizontal: true,
    enabled: isMany,
    count: n,
    getScrollElement: () => box.current,
    estimateSize: () => column_px,
    paddingStart: NAME_PX + STATE_PX,
    overscan: 3,
    useFlushSync: false,
  });
  const items = virtualizer.getVirtualItems();
  const [first, end] = isMany ? [items[0]?.index ?? 0, (items.at(-1)?.index ?? -1) + 1] : [0, n];
  useEffect(() => virtualizer.measure(), [virtualizer, column_px]);
  return useMemo(() => Array.from({ length: end - first }, (_, index) => first + index), [first, end]);
}

/** Where a column stands in each row: before it are the name and the state. */
function placeOf(at: number) {
  return { "aria-colindex": at + 3, style: { gridColumn: at + 3, gridRow: 1 } };
}

interface RowProps {
  row: Compared;
  /** Of its colour. */
  place: number;
  values: Settings;
  columns: readonly string[];
  /** Places of those columns that are made. */
  inView: readonly number[];
  /** The values that its own are compared with. */
  baseline: Settings | undefined;
  isPinned: boolean;
  /** With its id, or "" where it is pinned already. */
  onBaseline: (id: string) => void;
  rowIndex: number;
  dataIndex?: number;
  /** How far below the first one it is; left out: where it stands. */
  start?: number;
  tracks: CSSProperties;
}

/** While one scrolls, rows that stay in view are not made again; the others are of plain elements. */
const Row = memo(function Row({ row, place, values, columns, inView, baseline, isPinned, onBaseline, rowIndex, dataIndex, start, tracks }: RowProps) {
  const style: CSSProperties = start === undefined ? tracks : { position: "absolute", transform: `translateY(${start}px)`, ...tracks };
  return (
    <div role="row" aria-rowindex={rowIndex} data-index={dataIndex} data-pinned={isPinned || undefined} className={classes.row} style={style}>
      <div role="rowheader" className={classes.cell} data-name title={row.name}>
        <button type="button" className={classes.pin} aria-label={t`Baseline: ${row.name}`} aria-pressed={isPinned} onClick={() => onBaseline(isPinned ? "" : row.id)}>
          <Icon name="pin" size={14} />
        </button>
        <Swatch place={place} isEmphasised={isPinned} />
        <Link to={`/${row.kind}s/${row.id}`} className={classes.name} dir="auto">
          {row.name}
        </Link>
      </div>
      <div role="cell" className={classes.cell}>
        {row.kind === "job" ? <JobStateBadge state={row.state} /> : <RunStatusBadge status={row.state} />}
      </div>
      {inView.map((at) => {
        const name = columns[at] ?? "";
        return <Cell key={at} at={at} value={values.get(name) ?? null} baseline={baseline && (baseline.get(name) ?? null)} />;
      })}
    </div>
  );
});

function Cell({ at, value, baseline }: { at: number; value: Value; baseline: Value | undefined }) {
  const text = shown(value);
  if (baseline === undefined) return cell(at, text, text);
  const difference = differenceOf(value, baseline);
  const isOther = value !== baseline;
  const title = isOther ? t`${text}; the baseline has ${shown(baseline)}` : text;
  return cell(
    at,
    title,
    <>
      <span data-same={!isOther || undefined}>{text}</span>{" "}
      {difference !== null && difference !== 0 && <span className={classes.difference}>{signed(difference)}</span>}
      {difference === null && isOther && <span className={classes.difference}>{t`other`}</span>}
    </>,
  );
}

function cell(at: number, title: string, content: ReactNode) {
  return (
    <div role="cell" className={classes.cell} dir="auto" title={title} {...placeOf(at)}>
      {content}
    </div>
  );
}

function signed(difference: number): string {
  return difference > 0 ? `+${number(difference)}` : `−${number(-difference)}`;
}

function shown(value: Value): string {
  if (value === null) return "–";
  return typeof value === "number" ? number(value) : value;
}
