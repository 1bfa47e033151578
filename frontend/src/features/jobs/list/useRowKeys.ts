// SPDX-License-Identifier: Apache-2.0
// The keys and clicks of the table's rows: j, k and the arrows move, x selects, Enter opens, Space looks, a click chooses.
import { useDebouncedCallback } from "@mantine/hooks";
import { type KeyboardEvent, type MouseEvent, useEffect, useEffectEvent } from "react";
import { useNavigate } from "react-router";

import type { JobRow } from "./tableRows";

/** What is chosen is shown next to the table; where there is no room for that, rows lead to the jobs' pages. */
export interface Choice {
  /** The id of the job that is shown next to the table. */
  chosen: string | undefined;
  /** isEntered: one wants to go on there, not in the table. */
  onChoose: (id: string, isEntered: boolean) => void;
}

interface Rows {
  jobs: readonly JobRow[];
  choice: Choice | null;
  selected: ReadonlySet<string>;
  onSelect: (ids: readonly string[], isSelected: boolean) => void;
  focusRow: (index: number) => void;
}

const STEPS: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const LETTERS = ["j", "k"]; // also where nothing has the focus: the arrows scroll the page there
const BROWSED_MS = 150; // with a key held down, the rows passed are not read
const OWN_CLICKS = "a, button, input, label, select";

export function useRowKeys({ jobs, choice, selected, onSelect, focusRow }: Rows) {
  const navigate = useNavigate();
  const browse = useDebouncedCallback((id: string) => choice?.onChoose(id, false), BROWSED_MS);
  const isOpen = choice?.chosen !== undefined;
  useEffect(() => {
    if (!isOpen) browse.cancel();
  }, [isOpen, browse]);

  function step(index: number, by: number) {
    const next = Math.min(jobs.length - 1, Math.max(0, index + by));
    const job = jobs[next];
    if (job === undefined) return;
    focusRow(next);
    if (isOpen) browse(job.id);
  }

  const begin = useEffectEvent((event: globalThis.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !isNowhere(document.activeElement)) return;
    const by = LETTERS.includes(event.key) ? STEPS[event.key] : undefined;
    if (by === undefined) return;
    const at = jobs.findIndex(({ id }) => id === choice?.chosen);
    step(at, at < 0 ? 1 : by);
    event.preventDefault();
  });
  useEffect(() => {
    const onPageKey = (event: globalThis.KeyboardEvent) => begin(event);
    window.addEventListener("keydown", onPageKey);
    return () => window.removeEventListener("keydown", onPageKey);
  }, []);

  function enter(job: JobRow) {
    browse.cancel();
    if (choice === null) void navigate(`/jobs/${job.id}`);
    else choice.onChoose(job.id, true);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rowOf(event.target);
    const index = row === null ? -1 : Number(row.dataset["index"]);
    const job = jobs[index];
    const isOnRow = job !== undefined && event.target === row;
    const by = STEPS[event.key];
    if (by !== undefined) step(index, by);
    else if (event.key === "x" && job !== undefined) onSelect([job.id], !selected.has(job.id));
    else if (event.key === "Enter" && isOnRow) enter(job);
    else if (event.key === " " && isOnRow && choice !== null) choice.onChoose(job.id, false);
    else return;
    event.preventDefault();
  }

  /** On a row's free space: links, boxes and text that is being marked keep their clicks. */
  function onClick(event: MouseEvent) {
    const row = rowOf(event.target);
    const job = row === null ? undefined : jobs[Number(row.dataset["index"])];
    if (choice === null || job === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target instanceof Element && event.target.closest(OWN_CLICKS) !== null) return;
    if (document.getSelection()?.isCollapsed === false) return;
    browse.cancel();
    choice.onChoose(job.id, false);
  }

  return { onKeyDown, onClick };
}

/** Whether the page has the keys as a whole, such as after a page was opened or the navigation was skipped. */
function isNowhere(focused: Element | null): boolean {
  return focused === null || focused === document.body || focused.tagName === "MAIN";
}

function rowOf(target: EventTarget): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
}
