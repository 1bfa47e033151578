// SPDX-License-Identifier: Apache-2.0
// Server-sent events that survive interruptions and servers that hang: reconnects with back-off from the last id seen.
// A tab in the background has no stream: over HTTP/1.1 a browser has six connections to a server, for all of its tabs.
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from "react";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** The server sends a heartbeat every 5 s: one that is silent for so long hangs, or cannot be reached. */
const SILENCE_MS = 9_000;
/** Who looks into another tab and comes back so soon keeps the stream. */
const HIDDEN_MS = 5_000;

/** staleSince: the time (ISO 8601) when the stream was last heard of, while it is interrupted; null before it was ever there. */
export interface StreamState {
  isConnected: boolean;
  staleSince: string | null;
}

export type StreamHandlers = Record<string, (data: unknown) => void>;

/**
 * Listens to `path` (null: off) for the events named by `handlers`, which may change without reconnecting.
 * options.lastEventId: where the first connection starts; afterwards the last id seen counts.
 */
export function useStream(
  path: string | null,
  handlers: StreamHandlers,
  options?: { lastEventId?: string },
): StreamState {
  const [connectedPath, setConnectedPath] = useState<string | null>(null);
  const [staleSince, setStaleSince] = useState<string | null>(null);
  const names = Object.keys(handlers).sort().join(" ");
  const handle = useEffectEvent((name: string, data: unknown) => handlers[name]?.(data));
  const startingId = useEffectEvent(() => options?.lastEventId ?? "");
  const seen = useRef<{ path: string | null; id: string }>({ path: null, id: "" });
  const isLookedAt = useIsLookedAt();

  useEffect(() => {
    if (path === null || !isLookedAt) return;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let silence: ReturnType<typeof setTimeout> | undefined;
    let heardAt: string | null = null;
    let lastId = seen.current.path === path ? seen.current.id : startingId();
    let wait_ms = FIRST_WAIT_MS;

    function open(address: string) {
      const current = new EventSource(withCursor(address, lastId));
      source = current;
      const hear = () => {
        heardAt = new Date().toISOString();
        clearTimeout(silence);
        silence = setTimeout(reopen, SILENCE_MS);
      };
      // EventSource's own retry repeats the first address; opening anew carries the last id in it instead.
      const reopen = () => {
        clearTimeout(silence);
        current.close();
        setConnectedPath(null);
        setStaleSince(heardAt);
        timer = setTimeout(() => open(address), wait_ms);
        wait_ms = Math.min(wait_ms * 2, LONGEST_WAIT_MS);
      };
      silence = setTimeout(reopen, SILENCE_MS);
      current.onopen = () => {
        hear();
        wait_ms = FIRST_WAIT_MS;
        setConnectedPath(address);
        setStaleSince(null);
      };
      current.onerror = reopen;
      const note = (message: MessageEvent<string>) => {
        hear();
        if (message.lastEventId) lastId = message.lastEventId;
      };
      current.addEventListener("heartbeat", note); // the first one says where the stream begins
      for (const name of names.split(" ")) {
        current.addEventListener(name, (message: MessageEvent<string>) => {
          note(message);
          handle(name, JSON.parse(message.data) as unknown);
        });
      }
    }

    open(path);
    return () => {
      clearTimeout(timer);
      clearTimeout(silence);
      source?.close();
      seen.current = { path, id: lastId };
      setConnectedPath(null);
      setStaleSince(null);
    };
  }, [path, names, isLookedAt]);

  return { isConnected: path !== null && connectedPath === path, staleSince };
}

function withCursor(path: string, lastId: string): string {
  if (lastId === "") return path;
  const joint = path.includes("?") ? "&" : "?";
  return `${path}${joint}last_event_id=${encodeURIComponent(lastId)}`;
}

let isHidden = document.visibilityState === "hidden"; // a tab that is opened in the background waits until it is looked at
let hiding: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function useIsLookedAt(): boolean {
  return useSyncExternalStore(listenToVisibility, () => !isHidden);
}

function listenToVisibility(onChange: () => void): () => void {
  if (listeners.size === 0) {
    isHidden = document.visibilityState === "hidden";
    document.addEventListener("visibilitychange", look);
  }
  listeners.add(onChange);
  return () => {
    listeners.delete(onChange);
    if (listeners.size > 0) return;
    clearTimeout(hiding);
    document.removeEventListener("visibilitychange", look);
  };
}

function look() {
  clearTimeout(hiding);
  if (document.visibilityState === "hidden") hiding = setTimeout(() => become(true), HIDDEN_MS);
  else become(false);
}

function become(hidden: boolean) {
  isHidden = hidden;
  for (const onChange of listeners) onChange();
}
