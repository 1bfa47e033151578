// SPDX-License-Identifier: Apache-2.0
// The line between a main part and one next to it: dragged, or moved with arrow keys, it divides the room anew; a double click
// gives it back as it was. The share is kept in this browser.
import { useLocalStorage } from "@mantine/hooks";
import { type CSSProperties, type KeyboardEvent, type PointerEvent, useRef, useState } from "react";

import classes from "./Splitter.module.css";

const LEAST = 25;
const MOST = 75;
const STEP = 2;
/** What its style gives the second part, about. */
const USUAL = 44;

interface Props {
  label: string;
  /** What the second part has, in per cent; null: as its style says. */
  share: number | null;
  onShare: (share: number | null) => void;
}

/** The share of the second part, kept under `key`, and as a style of what holds both: `--second-share`, where somebody chose it. */
export function useSplit(key: string) {
  const [share, onShare] = useLocalStorage<number | null>({ key, defaultValue: null, getInitialValueInEffect: false });
  const style = share === null ? undefined : ({ "--second-share": `${clamped(share)}%` } as CSSProperties);
  return { style, splitter: { share: share === null ? null : clamped(share), onShare } };
}

/** Stands between the two parts, whose parent is as wide as both. */
export function Splitter({ label, share, onShare }: Props) {
  const line = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const now = dragged ?? share;

  function onPointerMove(event: PointerEvent) {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const found = shareAt(event.currentTarget, event.clientX);
    line.current?.parentElement?.style.setProperty("--second-share", `${found}%`); // the parts are drawn anew once, at the end
    setDragged(found);
  }

  function onPointerUp(event: PointerEvent) {
    event.currentTarget.releasePointerCapture(event.pointerId);
    if (dragged !== null) onShare(dragged);
    setDragged(null);
  }

  function onKeyDown(event: KeyboardEvent<HTMLElement>) {
    const change = changeOf(event.key, isRightToLeft(event.currentTarget));
    if (change === null) return;
    event.preventDefault();
    onShare(clamped((now ?? shareAt(event.currentTarget)) + change));
  }

  return (
    <div
      ref={line}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="vertical"
      aria-valuemin={100 - MOST}
      aria-valuemax={100 - LEAST}
      aria-valuenow={Math.round(100 - (now ?? USUAL))}
      className={classes.line}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onDoubleClick={() => onShare(null)}
      onKeyDown={onKeyDown}
    />
  );
}

/** What the second part has, in per cent, when the middle of the line is at `x`, else where it is now. */
function shareAt(line: Element, x?: number): number {
  const { left, width } = line.getBoundingClientRect();
  const both = (line.parentElement ?? line).getBoundingClientRect();
  const middle = x ?? left + width / 2;
  const room = isRightToLeft(line) ? middle - both.left : both.right - middle;
  return clamped((100 * (room - width / 2)) / both.width); // jsdom lays nothing out: 0 / 0
}

function changeOf(key: string, isMirrored: boolean): number | null {
  const direction = isMirrored ? -1 : 1;
  if (key === "ArrowLeft") return STEP * direction;
  if (key === "ArrowRight") return -STEP * direction;
  if (key === "Home") return 100;
  return key === "End" ? -100 : null;
}

function isRightToLeft(element: Element): boolean {
  return getComputedStyle(element).direction === "rtl";
}

function clamped(share: number): number {
  return Number.isFinite(share) ? Math.min(MOST, Math.max(LEAST, share)) : 50;
}
