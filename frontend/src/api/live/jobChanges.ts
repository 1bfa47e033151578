// SPDX-License-Identifier: Apache-2.0
// Which jobs the organisation's stream brought news of: a long list reads these again, and not the whole of itself.
import { useEffect, useEffectEvent } from "react";

const GATHERED_MS = 300; // what comes within it is handed over at once
const listeners = new Set<(id: string) => void>();

export function publishJobChange(id: string): void {
  for (const listener of listeners) listener(id);
}

/** Hands over the ids of jobs that changed, a few times a second at most. */
export function useJobChanges(handle: (ids: readonly string[]) => void): void {
  const hand = useEffectEvent(handle);
  useEffect(() => {
    const changed = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listener = (id: string) => {
      changed.add(id);
      timer ??= setTimeout(() => {
        const ids = [...changed];
        changed.clear();
        timer = undefined;
        hand(ids);
      }, GATHERED_MS);
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      clearTimeout(timer);
    };
  }, []);
}
