// SPDX-License-Identifier: Apache-2.0
// What the pages of datasets read.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { cursorOf, pageAt } from "@/lib/cursor";

export function datasetsQuery(filters: { project?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ["datasets", filters],
    queryFn: () => unwrap(api.GET("/api/v1/datasets", { params: { query: filters } })),
    placeholderData: keepPreviousData,
  });
}

export function datasetQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset", id],
    queryFn: () => unwrap(api.GET("/api/v1/datasets/{id}", { params: { path: { id } } })),
  });
}

export function versionsQuery(id: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["dataset", id, "versions", cursor],
    queryFn: () =>
      unwrap(api.GET("/api/v1/datasets/{id}/versions", { params: { path: { id }, query: pageAt(cursor) } })),
    placeholderData: keepPreviousData,
  });
}

const ALL = 200; // to choose from

export function allVersionsQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset", id, "versions", "all"],
    queryFn: () => unwrap(api.GET("/api/v1/datasets/{id}/versions", { params: { path: { id }, query: { limit: ALL } } })),
  });
}

export function versionDifferenceQuery(id: string, to: string) {
  return queryOptions({
    queryKey: ["dataset", "version", id, "difference", to],
    queryFn: () =>
      unwrap(api.GET("/api/v1/dataset-versions/{id}/difference", { params: { path: { id }, query: { to } } })),
  });
}

/** One version with its preview, which lists leave out. */
export function versionQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset", "version", id],
    queryFn: () => unwrap(api.GET("/api/v1/dataset-versions/{id}", { params: { path: { id } } })),
  });
}

/** Which nodes have the version in their caches. */
export function cachesQuery(version: string) {
  return queryOptions({
    queryKey: ["dataset", "version", version, "caches"],
    queryFn: () => unwrap(api.GET("/api/v1/dataset-versions/{id}/caches", { params: { path: { id: version } } })),
  });
}

const USES = 10; // a page of each kind

export function jobsOfQuery(version: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["dataset", "version", version, "jobs", cursor],
    queryFn: () => {
      const query = { dataset_version: version, limit: USES, ...pageAt(cursor) };
      return unwrap(api.GET("/api/v1/jobs", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
}

/** The files of a version of many, which come one after the other. */
export function shardsQuery(version: string) {
  return infiniteQueryOptions({
    queryKey: ["dataset", "version", version, "shards"],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/api/v1/dataset-versions/{id}/shards", { params: { path: { id: version }, query: pageAt(pageParam) } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => cursorOf(last.next),
  });
}

export function studiesOfQuery(version: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["dataset", "version", version, "studies", cursor],
    queryFn: () => {
      const query = { dataset_version: version, limit: USES, ...pageAt(cursor) };
      return unwrap(api.GET("/api/v1/studies", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
}

/** The model versions that were trained on the version. */
export function trainedOnQuery(version: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["dataset", "version", version, "trained", cursor],
    queryFn: () => {
      const params = { path: { id: version }, query: { limit: USES, ...pageAt(cursor) } };
      return unwrap(api.GET("/api/v1/dataset-versions/{id}/trained", { params }));
    },
    placeholderData: keepPreviousData,
  });
}
