// SPDX-License-Identifier: Apache-2.0
// Which queries an event or a change of the organisation's stream touches.
import type { Query, QueryKey } from "@tanstack/react-query";

import type { ChangeKind } from "@/api/live/changes";
import type { Touched } from "@/api/live/underWay";
import { isInspecting } from "@/api/versions";

/** The queries that an event about `kind` may change. */
export function keysOfEvent(kind: string, id: string): QueryKey[] {
  switch (kind) {
    case "job":
      return [["jobs"], ["job", id], ["why", id], ["cluster"], ["quota"], ["quota-tree"], ["queue"], ["usage"], ["studies"], ["study"]];
    case "scheduler":
      return [["scheduler"]];
    case "dataset":
    case "dataset_version":
      return [["datasets"], ["dataset"]];
    case "model":
    case "model_version":
      return [["models"], ["model"]];
    case "environment":
      return [["environments"], ["environment"]];
    case "study":
      return [["studies"], ["study"]];
    case "run":
      return [["runs"], ["run"]];
    case "webhook":
      return [["webhooks"], ["deliveries"]];
    case "membership":
    case "invitation":
      return [["members"], ["invitations"], ["roles"], ["permissions"]];
    case "team":
      return [["members"], ["quota"], ["quota-tree"], ["quota-requests"], ["usage"], ["roles"], ["permissions"]];
    case "project":
      return [["projects"], ["quota"], ["quota-tree"], ["quota-requests"], ["usage"], ["roles"], ["permissions"]];
    case "organisation":
      return [["organisations"], ["quota"], ["quota-tree"], ["quota-requests"], ["usage"], ["roles"], ["permissions"]];
    case "quota":
      return [["quota"], ["quota-tree"], ["quota-requests"], ["usage"], ["roles"], ["permissions"]];
    case "node":
    case "cluster":
      return [["cluster"]];
    default:
      return [];
  }
}

/** What a job's progress changes, of the queries that begin with its id; the job itself comes by its own stream. */
const GROWING = new Set<unknown>(["speed", "startup", "checkpoints"]);
const isGrowing = ({ queryKey, meta }: Query) => GROWING.has(queryKey[2]) && meta?.isOver !== true;
/** Of the timeline, what reaches to now; a window of the past stays as it is. */
const reachesNow = ({ queryKey }: Query) => queryKey[2] === undefined;
const waits = ({ queryKey, state }: Query) => isInspecting(state.data) || queryKey[3] === "shards";

const TOUCHED: Record<ChangeKind, Touched[]> = {
  round: [
    { key: ["queue"] },
    { key: ["cluster"] },
    { key: ["timeline"], isTouched: reachesNow },
    { key: ["scheduler", "rounds"] },
    { key: ["scheduler", "insight"] },
    { key: ["scheduler", "status"] },
    { key: ["job"], isTouched: isGrowing },
  ],
  progress: [
    { key: ["job"], isTouched: isGrowing },
    { key: ["jobs", "mine"] },
    { key: ["jobs", "sparks"] },
    { key: ["studies"] },
    { key: ["study"] },
  ],
  run: [{ key: ["runs"] }, { key: ["run"] }],
  delivery: [{ key: ["deliveries"] }, { key: ["webhooks"] }],
  build: [{ key: ["environments"] }, { key: ["environment"] }],
  announcement: [{ key: ["announcements"] }],
  queued_work: [["datasets"], ["dataset"], ["models"], ["model"]].map((key) => ({ key, isTouched: waits })),
};

export function keysOfChange(kind: ChangeKind): readonly Touched[] {
  return TOUCHED[kind];
}
