// SPDX-License-Identifier: Apache-2.0
// Keeps what is on screen true: what the organisation's stream reports makes the queries stale that it touches.
import { type Query, type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";

import { CHANGE_KINDS, type ChangeKind, changeKindsOf, publishChange, settled } from "@/api/live/changes";
import { isRecord } from "@/api/client";
import { publishJobChange } from "@/api/live/jobChanges";
import { type StreamState, useStream } from "@/api/live/stream";
import { keysOfChange, keysOfEvent } from "@/app/touchedQueries";

export function useLiveQueries(): StreamState {
  const queries = useQueryClient();
  const [readers] = useState(() => readersOf(queries));
  const stream = useStream("/api/v1/stream", {
    event: (data) => {
      if (!isRecord(data) || typeof data.subject_kind !== "string") return;
      const id = typeof data.subject_id === "string" ? data.subject_id : "";
      if (data.subject_kind === "job") publishJobChange(id);
      for (const queryKey of keysOfEvent(data.subject_kind, id)) void queries.invalidateQueries({ queryKey });
    },
    changed: (data) => {
      if (isRecord(data)) changeKindsOf(data.kinds).forEach((kind) => readers[kind].ask());
    },
    // Rights have changed: asking for everything anew shows what may be seen now, or the page to sign in.
    end: () => void queries.invalidateQueries(),
  });
  useOpened(stream.isConnected, (isFirst) => (isFirst ? BEFORE_FIRST : CHANGE_KINDS).forEach((kind) => readers[kind].ask()));
  return stream;
}

/** A page is read while its stream is opened: what an inspection found in between is no news of that stream. */
const BEFORE_FIRST: readonly ChangeKind[] = ["queued_work"];

/** Events that came while it was interrupted are sent again, changes are not: they may have been missed. */
function useOpened(isConnected: boolean, handle: (isFirst: boolean) => void) {
  const wasConnected = useRef(false);
  const run = useEffectEvent(handle);
  useEffect(() => {
    if (!isConnected) return;
    run(!wasConnected.current);
    wasConnected.current = true;
  }, [isConnected]);
}

/** For each kind of change, what reads its queries again. */
function readersOf(queries: QueryClient) {
  const readerOf = (kind: (typeof CHANGE_KINDS)[number]) =>
    settled(() => {
      publishChange(kind);
      for (const { key, isTouched } of keysOfChange(kind)) void invalidate(queries, key, isTouched);
    });
  return Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, readerOf(kind)])) as Record<
    (typeof CHANGE_KINDS)[number],
    ReturnType<typeof settled>
  >;
}

/** A page that is not seen is read again when one comes back to it. */
function invalidate(queries: QueryClient, queryKey: QueryKey, isTouched?: (query: Query) => boolean) {
  const refetchType = document.hidden ? "none" : "active";
  return queries.invalidateQueries({ queryKey, refetchType, ...(isTouched && { predicate: isTouched }) });
}
