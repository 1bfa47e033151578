// SPDX-License-Identifier: Apache-2.0
// What the organisation's stream reports to have changed without an event, for parts that read more than one query again.
import { useEffect, useEffectEvent } from "react";

/** As in mlhub/events/changes.py. */
export const CHANGE_KINDS = ["round", "progress", "run", "delivery", "build", "announcement", "queued_work"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** A job trains on, and rounds are made, several times a second: what they change is read no more often than this. */
export const MIN_BETWEEN_MS = 5_000;

const listeners = new Set<(kind: ChangeKind) => void>();

/** The kinds named by a frame of the stream, without those that a newer server may know. */
export function changeKindsOf(names: unknown): ChangeKind[] {
  return Array.isArray(names) ? CHANGE_KINDS.filter((kind) => names.includes(kind)) : [];
}

export function publishChange(kind: ChangeKind): void {
  for (const listener of listeners) listener(kind);
}

/** Calls `handle` soon after a change of this kind, and MIN_BETWEEN_MS later where more changed meanwhile. null: off. */
export function useChanges(kind: ChangeKind | null, handle: () => void): void {
  const run = useEffectEvent(handle);
  useEffect(() => {
    if (kind === null) return;
    const settle = settled(() => run());
    const listener = (changed: ChangeKind) => {
      if (changed === kind) settle.ask();
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      settle.cancel();
    };
  }, [kind]);
}

/** ask() runs it at once, and at most once more per `between_ms` however often it is asked; the last ask counts. */
export function settled(run: () => void, between_ms = MIN_BETWEEN_MS) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsked = false;
  const pass = () => {
    timer = undefined;
    if (isAsked) ask();
  };
  function ask() {
    if (timer !== undefined) {
      isAsked = true;
      return;
    }
    isAsked = false;
    timer = setTimeout(pass, between_ms);
    run();
  }
  return { ask, cancel: () => clearTimeout(timer) };
}
