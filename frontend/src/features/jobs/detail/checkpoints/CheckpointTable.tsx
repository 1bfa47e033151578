// SPDX-License-Identifier: Apache-2.0
// The checkpoints as a table. Of thousands only the rows near the screen are in the page, which scrolls as with all.
import { t } from "@lingui/core/macro";
import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer, useWindowVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react";

import type { Checkpoint, Job } from "@/api/types";
import { ScrollTable } from "@/components/table/ScrollTable";

import { CheckpointRow } from "./CheckpointRow";
import { between } from "./choice";

/** So many rows are no burden. */
const MOST_WHOLE = 60;
const ROW_PX = 47;
const CARD_PX = 210;
const OVERSCAN = 10;

interface Props {
  job: Job;
  checkpoints: readonly Checkpoint[];
  /** Those that may be chosen. */
  deletable: readonly Checkpoint[];
  mayChange: boolean;
  mayFork: boolean;
  chosen: ReadonlySet<number>;
  onChoose: (ids: ReadonlySet<number>) => void;
}

export function CheckpointTable({ job, checkpoints, deletable, mayChange, mayFork, chosen, onChoose }: Props) {
  const last = useRef<number | null>(null);
  const free = new Set(deletable.map(({ id }) => id));

  /** isFar: the choice reaches from the checkbox that was clicked before to this one. */
  function choose(id: number, isChosen: boolean, isFar: boolean) {
    const ids = isFar && last.current !== null ? between(deletable, last.current, id) : [id];
    last.current = id;
    const next = new Set(chosen);
    for (const one of ids) {
      if (isChosen) next.add(one);
      else next.delete(one);
    }
    onChoose(next);
  }

  const row = (checkpoint: Checkpoint, index: number, measure?: (node: Element | null) => void) => (
    <CheckpointRow
      key={checkpoint.id}
      job={job}
      checkpoint={checkpoint}
      index={index}
      measure={measure}
      mayChange={mayChange}
      mayFork={mayFork}
      mayChoose={free.has(checkpoint.id)}
      isChosen={chosen.has(checkpoint.id)}
      onChoose={(isChosen, isFar) => choose(checkpoint.id, isChosen, isFar)}
    />
  );
  return (
    <ScrollTable label={t`Checkpoints`} head={[mayChange ? t({ context: "a checkpoint", message: "Choose" }) : "", t`Step`, t`Kind`, t`Metrics`, t`Size`, t`Written`, ""]}>
      {checkpoints.length <= MOST_WHOLE ? checkpoints.map((one, index) => row(one, index)) : <Window checkpoints={checkpoints} row={row} />}
    </ScrollTable>
  );
}

interface WindowProps {
  checkpoints: readonly Checkpoint[];
  row: (checkpoint: Checkpoint, index: number, measure: (node: Element | null) => void) => ReactNode;
}

/** Where there is room the table scrolls in its own frame, on a phone its page does. */
function Window(props: WindowProps) {
  const isWide = useMediaQuery("(min-width: 36.01em)", true, { getInitialValueInEffect: false });
  return isWide ? <InFrame {...props} /> : <OnPage {...props} />;
}

function InFrame({ checkpoints, row }: WindowProps) {
  const top = useRef<HTMLTableRowElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: checkpoints.length,
    getScrollElement: () => top.current?.closest<HTMLElement>("[role=region]") ?? null,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => checkpoints[index]?.id ?? index,
    overscan: OVERSCAN,
  });
  return <Rows top={top} virtualizer={virtualizer} margin={0} checkpoints={checkpoints} row={row} />;
}

function OnPage({ checkpoints, row }: WindowProps) {
  const top = useRef<HTMLTableRowElement>(null);
  const [margin, setMargin] = useState(0);
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useWindowVirtualizer({
    count: checkpoints.length,
    estimateSize: () => CARD_PX,
    getItemKey: (index) => checkpoints[index]?.id ?? index,
    overscan: OVERSCAN,
    scrollMargin: margin,
  });
  useLayoutEffect(() => {
    if (top.current !== null) setMargin(top.current.getBoundingClientRect().top + window.scrollY);
  }, [checkpoints.length]);
  return <Rows top={top} virtualizer={virtualizer} margin={margin} checkpoints={checkpoints} row={row} />;
}

interface RowsProps extends WindowProps {
  top: RefObject<HTMLTableRowElement | null>;
  virtualizer: Virtualizer<HTMLElement, Element> | Virtualizer<globalThis.Window, Element>;
  /** Pixels above the first row, of what is scrolled. */
  margin: number;
}

/** The rows near the screen, between two that stand for all others. */
function Rows({ top, virtualizer, margin, checkpoints, row }: RowsProps) {
  const items = virtualizer.getVirtualItems();
  const before = (items[0]?.start ?? margin) - margin;
  const after = virtualizer.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin);
  const measure = (node: Element | null) => virtualizer.measureElement(node);
  return (
    <>
      <tr ref={top} aria-hidden style={{ height: before, padding: 0, border: 0 }} />
      {items.map(({ index }) => {
        const checkpoint = checkpoints[index];
        return checkpoint && row(checkpoint, index, measure);
      })}
      <tr aria-hidden style={{ height: Math.max(0, after), padding: 0, border: 0 }} />
    </>
  );
}
