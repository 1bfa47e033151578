// SPDX-License-Identifier: Apache-2.0
// Keeps what is on screen true: each event of the organisation's stream makes the queries it touches stale.
import { type QueryKey, useQueryClient } from "@tanstack/react-query";

import { isRecord } from "@/api/client";
import { type StreamState, useStream } from "@/api/stream";

/** The queries that an event about `kind` may change. */
function touchedBy(kind: string, id: string): QueryKey[] {
  switch (kind) {
    case "job":
      return [["jobs"], ["job", id], ["why", id], ["cluster"], ["quota"], ["queue"], ["usage"]];
    case "scheduler":
      return [["scheduler"]];
    case "dataset":
    case "dataset_version":
      return [["datasets"], ["dataset"]];
    case "model":
    case "model_version":
      return [["models"], ["model"]];
    case "membership":
    case "invitation":
      return [["members"], ["invitations"]];
    case "organisation":
      return [["quota"]];
    case "node":
      return [["cluster"]];
    default:
      return [];
  }
}

export function useLiveQueries(): StreamState {
  const queries = useQueryClient();
  return useStream("/api/v1/stream", {
    event: (data) => {
      if (!isRecord(data) || typeof data.subject_kind !== "string") return;
      const id = typeof data.subject_id === "string" ? data.subject_id : "";
      for (const queryKey of touchedBy(data.subject_kind, id)) void queries.invalidateQueries({ queryKey });
    },
    // Rights have changed: asking for everything anew shows what may be seen now, or the page to sign in.
    end: () => void queries.invalidateQueries(),
  });
}
