// SPDX-License-Identifier: Apache-2.0
// Of a job's queries, its progress touches those that grow; of datasets, the queue of work those that wait in it.
import { QueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";

import { CHANGE_KINDS, type ChangeKind } from "@/api/live/changes";

import { keysOfChange } from "./touchedQueries";

function touched(kind: ChangeKind, stored: [key: unknown[], data: unknown][]): unknown[] {
  const queries = new QueryClient();
  for (const [key, data] of stored) queries.setQueryData(key, data);
  const found = keysOfChange(kind).flatMap(({ key, isTouched }) =>
    queries.getQueryCache().findAll({ queryKey: key, ...(isTouched && { predicate: isTouched }) }),
  );
  return found.map(({ queryKey }) => queryKey);
}

it("touches what a job's progress lets grow, and leaves the job itself to its own stream", () => {
  const stored: [unknown[], unknown][] = [["speed"], ["checkpoints"], ["deletion"], []].map((part) => [["job", "7", ...part], {}]);
  expect(touched("progress", stored)).toEqual([["job", "7", "speed"], ["job", "7", "checkpoints"]]);
});

it("touches versions that wait for their inspection, alone, in lists and as the latest one, and tables of shards", () => {
  const waits = { state: "inspecting" };
  expect(
    touched("queued_work", [
      [["dataset", "version", "1"], waits],
      [["dataset", "version", "1", "shards"], { pages: [] }],
      [["dataset", "version", "2"], { state: "ready" }],
      [["datasets", {}], { results: [{ latest_version: { state: "ready" } }, { latest_version: waits }] }],
      [["models", {}], { results: [{ latest_version: null }] }],
    ]),
  ).toEqual([["datasets", {}], ["dataset", "version", "1"], ["dataset", "version", "1", "shards"]]);
});

it("reads nothing of a job again that is over, and of the timeline only what reaches to now", () => {
  const queries = new QueryClient();
  const cache = queries.getQueryCache();
  for (const part of ["speed", "startup", "checkpoints"]) {
    cache.build(queries, { queryKey: ["job", "over", part], meta: { isOver: true } });
    cache.build(queries, { queryKey: ["job", "live", part], meta: { isOver: false } });
  }
  cache.build(queries, { queryKey: ["timeline", "1d", undefined, 1] });
  cache.build(queries, { queryKey: ["timeline", "1d", "2026-01-01T00:00:00Z", 1] });
  const found = keysOfChange("round").flatMap(({ key, isTouched }) => cache.findAll({ queryKey: key, ...(isTouched && { predicate: isTouched }) }));
  expect(found.map(({ queryKey }) => queryKey.slice(0, 3))).toEqual([
    ["timeline", "1d", undefined],
    ["job", "live", "speed"],
    ["job", "live", "startup"],
    ["job", "live", "checkpoints"],
  ]);
});

it("knows queries for every kind of change", () => {
  for (const kind of CHANGE_KINDS) expect(keysOfChange(kind)).not.toHaveLength(0);
});
