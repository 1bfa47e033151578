// SPDX-License-Identifier: Apache-2.0
// Server-sent events that survive interruptions: reconnects with back-off from the last id seen.
import { useEffect, useEffectEvent, useState } from "react";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export type StreamHandlers = Record<string, (data: unknown) => void>;

/**
 * Listens to `path` (null: off) for the events named by `handlers`, which may change without reconnecting.
 * options.lastEventId: where the first connection starts; afterwards the last id seen counts.
 */
export function useStream(
  path: string | null,
  handlers: StreamHandlers,
  options?: { lastEventId?: string },
): { isConnected: boolean } {
  const [connectedPath, setConnectedPath] = useState<string | null>(null);
  const names = Object.keys(handlers).sort().join(" ");
  const handle = useEffectEvent((name: string, data: unknown) => handlers[name]?.(data));
  const startingId = useEffectEvent(() => options?.lastEventId ?? "");

  useEffect(() => {
    if (path === null) return;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastId = startingId();
    let wait_ms = FIRST_WAIT_MS;

    function open(address: string) {
      const current = new EventSource(withCursor(address, lastId));
      source = current;
      current.onopen = () => {
        wait_ms = FIRST_WAIT_MS;
        setConnectedPath(address);
      };
      // EventSource's own retry repeats the first address; opening anew carries the last id in it instead.
      current.onerror = () => {
        current.close();
        setConnectedPath(null);
        timer = setTimeout(() => open(address), wait_ms);
        wait_ms = Math.min(wait_ms * 2, LONGEST_WAIT_MS);
      };
      for (const name of names.split(" ")) {
        current.addEventListener(name, (message: MessageEvent<string>) => {
          if (message.lastEventId) lastId = message.lastEventId;
          handle(name, JSON.parse(message.data) as unknown);
        });
      }
    }

    open(path);
    return () => {
      clearTimeout(timer);
      source?.close();
      setConnectedPath(null);
    };
  }, [path, names]);

  return { isConnected: path !== null && connectedPath === path };
}

function withCursor(path: string, lastId: string): string {
  if (lastId === "") return path;
  const joint = path.includes("?") ? "&" : "?";
  return `${path}${joint}last_event_id=${encodeURIComponent(lastId)}`;
}
