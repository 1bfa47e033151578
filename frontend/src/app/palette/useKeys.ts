// SPDX-License-Identifier: Apache-2.0
// The keys that work on every page: Ctrl-K or Cmd-K for the palette, ? for the list of keys, "g" and a letter for a page.
import { useEffect, useEffectEvent } from "react";
import { useNavigate } from "react-router";

import { GROUPS } from "@/app/shell/places";

const PLACES = new Map(GROUPS.flatMap(([, places]) => places.flatMap(({ letter, to }) => (letter === undefined ? [] : [[letter, to] as const]))));
const SECOND_KEY_MS = 1500;

interface Handlers {
  onPalette: () => void;
  onKeys: () => void;
}

export function useKeys({ onPalette, onKeys }: Handlers) {
  const navigate = useNavigate();
  const press = useEffectEvent((event: KeyboardEvent, isSecond: boolean): "g" | "done" | null => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      onPalette();
      return "done";
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return null;
    if (event.key === "?") {
      onKeys();
      return "done";
    }
    const to = isSecond ? PLACES.get(event.key) : undefined;
    if (to !== undefined) {
      void navigate(to);
      return "done";
    }
    return event.key === "g" ? "g" : null;
  });
  useEffect(() => {
    let first_ms = -Infinity;
    const onKeyDown = (event: KeyboardEvent) => {
      const isSecond = performance.now() - first_ms < SECOND_KEY_MS;
      const made = press(event, isSecond);
      first_ms = made === "g" ? performance.now() : -Infinity;
      if (made === "done") {
        event.preventDefault();
        event.stopPropagation(); // what is on the page has keys of its own, such as "j"
      }
    };
    document.addEventListener("keydown", onKeyDown, { capture: true });
    return () => document.removeEventListener("keydown", onKeyDown, { capture: true });
  }, []);
}

/** Whether keys write there, or a dialogue has them. */
function isTyping(target: EventTarget | null): boolean {
  // oxlint-disable-next-line lingui/no-unlocalized-strings -- a selector
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], [role=dialog], [role=menu]") !== null;
}
