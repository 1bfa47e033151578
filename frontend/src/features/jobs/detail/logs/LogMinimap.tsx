// SPDX-License-Identifier: Apache-2.0
// The whole log as a narrow bar: where errors and found lines are, and what is in view. A click goes there.
import { t } from "@lingui/core/macro";
import { type KeyboardEvent, memo } from "react";

import type { LogOverview } from "@/api/types";

import type { LogViewport } from "./LogLines";
import classes from "./LogView.module.css";

interface Props {
  overview: LogOverview;
  view: LogViewport | null;
  /** The first seq of the section that was chosen, and whether it has errors. */
  onGo: (seq: number, hasErrors: boolean) => void;
}

const STEPS: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity };
const NEAR = 1; // sections around a click: a mark is as high as a few pixels

export function LogMinimap({ overview, view, onGo }: Props) {
  const { first_seq: first, last_seq: last, errors } = overview;
  if (first === null || last === null) return null;
  const length = last - first + 1;
  const placeOf = (seq: number) => Math.min(1, Math.max(0, (seq - first) / length));
  const [top, bottom] = view === null ? [1, 1] : [placeOf(view.top), placeOf(view.bottom + 1)];

  function go(section: number) {
    const asked = Math.min(errors.length - 1, Math.max(0, section));
    const near = [asked, asked - NEAR, asked + NEAR].find((place) => (errors[place] ?? 0) > 0);
    onGo((first ?? 0) + Math.ceil(((near ?? asked) * length) / errors.length), near !== undefined);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    go(Math.floor(top * errors.length) + step);
  }

  return (
    <div
      className={classes.minimap}
      role="slider"
      tabIndex={0}
      aria-label={t`Place in the log`}
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(top * 100)}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        go(Math.floor(((event.clientY - box.top) / Math.max(1, box.height)) * errors.length));
      }}
    >
      <Marks errors={errors} found={overview.found} />
      <span className={classes.here} style={{ top: `${top * 100}%`, height: `${Math.max(0, bottom - top) * 100}%` }} />
    </div>
  );
}

/** Found lines at the left, errors at the right; at least some pixels high, so that one of 200,000 is seen. */
const Marks = memo(function Marks({ errors, found }: Pick<LogOverview, "errors" | "found">) {
  const n = errors.length;
  const least = n / 120;
  return (
    <svg viewBox={`0 0 2 ${n}`} preserveAspectRatio="none" aria-hidden="true">
      {found?.map((count, i) => count > 0 && <rect key={i} data-mark="found" x={0} y={i} width={1} height={least} />)}
      {errors.map((count, i) => count > 0 && <rect key={i} data-mark="error" x={found === null ? 0 : 1} y={i} width={2} height={least} />)}
    </svg>
  );
});
