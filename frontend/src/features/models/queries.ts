// SPDX-License-Identifier: Apache-2.0
// What the pages of models read.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { pageAt } from "@/lib/cursor";

export type Source = "upload" | "training" | "logged";

export function modelsQuery(filters: { project?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ["models", filters],
    queryFn: () => unwrap(api.GET("/api/v1/models", { params: { query: filters } })),
    placeholderData: keepPreviousData,
  });
}

export function modelQuery(id: string) {
  return queryOptions({
    queryKey: ["model", id],
    queryFn: () => unwrap(api.GET("/api/v1/models/{id}", { params: { path: { id } } })),
  });
}

export function versionsQuery(id: string, source: Source, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["model", id, "versions", source, cursor],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/models/{id}/versions", { params: { path: { id }, query: { source, ...pageAt(cursor) } } }),
      ),
    placeholderData: keepPreviousData,
  });
}

const ALL = 200; // to count them

export function allVersionsQuery(id: string) {
  return queryOptions({
    queryKey: ["model", id, "versions", "all"],
    queryFn: () => unwrap(api.GET("/api/v1/models/{id}/versions", { params: { path: { id }, query: { limit: ALL } } })),
  });
}

export function versionQuery(id: string) {
  return queryOptions({
    queryKey: ["model", "version", id],
    queryFn: () => unwrap(api.GET("/api/v1/model-versions/{id}", { params: { path: { id } } })),
  });
}

/** Files of a version that a client of MLflow registered: they never change. */
export function versionFilesQuery(id: string) {
  return queryOptions({
    queryKey: ["model", "version", id, "files"],
    queryFn: () => unwrap(api.GET("/api/v1/model-versions/{id}/files", { params: { path: { id } } })),
    staleTime: Infinity,
  });
}

export function lineageQuery(id: string, number: number) {
  const params = { path: { id, version: String(number) } };
  return queryOptions({
    queryKey: ["model", id, "lineage", number],
    queryFn: () => unwrap(api.GET("/api/v1/models/{id}/versions/{version}/lineage", { params })),
  });
}

/** The dataset version that weights were trained on: it never changes. */
export function trainedOnQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset-version", id],
    queryFn: () => unwrap(api.GET("/api/v1/dataset-versions/{id}", { params: { path: { id } } })),
    staleTime: Infinity,
  });
}
