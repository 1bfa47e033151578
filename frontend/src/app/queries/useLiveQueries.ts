// SPDX-License-Identifier: Apache-2.0
// Keeps what is on screen true: what the organisation's stream reports makes the queries stale that it touches.
import { type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { CHANGE_KINDS, changeKindsOf, publishChange, settled } from "@/api/live/changes";
import { isRecord } from "@/api/client";
import { publishJobChange } from "@/api/live/jobChanges";
import { type StreamState, useStream } from "@/api/live/stream";
import { readAgain } from "@/api/live/underWay";
import { useMe } from "@/api/session";
import { keysOfChange, keysOfEvent } from "@/app/queries/touchedQueries";

const GATHERED_MS = 100; // of many events at once, as after an interruption, each query is read again once

/**
 * The stream begins where the first answer of all, about who is signed in, was given: what is shown was read after it, so
 * nothing that happens while a page is read and its stream is opened is missed.
 */
export function useLiveQueries(): StreamState {
  const queries = useQueryClient();
  const [lastEventId] = useState(useMe().stream_cursor);
  const [readers] = useState(() => readersOf(queries));
  const [readTouched] = useState(() => gathered(queries));
  return useStream(
    "/api/v1/stream",
    {
      event: (data) => {
        if (!isRecord(data) || typeof data.subject_kind !== "string") return;
        const id = typeof data.subject_id === "string" ? data.subject_id : "";
        if (data.subject_kind === "job") publishJobChange(id);
        readTouched(keysOfEvent(data.subject_kind, id));
      },
      changed: (data) => {
        if (isRecord(data)) changeKindsOf(data.kinds).forEach((kind) => readers[kind].ask());
      },
      // Rights have changed: asking for everything anew shows what may be seen now, or the page to sign in.
      end: () => void queries.invalidateQueries(),
    },
    { lastEventId },
  );
}

/** For each kind of change, what reads its queries again. */
function readersOf(queries: QueryClient) {
  const readerOf = (kind: (typeof CHANGE_KINDS)[number]) =>
    settled(() => {
      publishChange(kind);
      // A page that is not seen is read again when one comes back to it.
      for (const touched of keysOfChange(kind)) readAgain(queries, touched, document.hidden ? "none" : "active");
    });
  return Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, readerOf(kind)])) as Record<
    (typeof CHANGE_KINDS)[number],
    ReturnType<typeof settled>
  >;
}

/** Reads the queries of these keys again, those of all calls within GATHERED_MS together. */
function gathered(queries: QueryClient): (keys: readonly QueryKey[]) => void {
  const asked = new Map<string, QueryKey>();
  return (keys) => {
    if (keys.length === 0) return;
    if (asked.size === 0) {
      setTimeout(() => {
        const all = [...asked.values()];
        asked.clear();
        for (const key of all) readAgain(queries, { key });
      }, GATHERED_MS);
    }
    for (const key of keys) asked.set(JSON.stringify(key), key);
  };
}
