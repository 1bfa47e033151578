// What the pages of datasets read.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { VersionState } from "@/api/types";

/** Until inspection is over there is nothing to see; the stream tells too, but this does not depend on it. */
const WHILE_INSPECTING_MS = 2_000;

export function datasetsQuery(filters: { project: string | undefined; cursor: string | undefined }) {
  return queryOptions({
    queryKey: ["datasets", filters],
    queryFn: () => unwrap(api.GET("/api/v1/datasets", { params: { query: given(filters) } })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.results.some((each) => each.latest_version?.state === "inspecting") ? WHILE_INSPECTING_MS : false,
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
      unwrap(api.GET("/api/v1/datasets/{id}/versions", { params: { path: { id }, query: given({ cursor }) } })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => intervalFor(state.data?.results.map((version) => version.state)),
  });
}

/** One version with its preview, which lists leave out. */
export function versionQuery(id: string) {
  return queryOptions({
    queryKey: ["dataset", "version", id],
    queryFn: () => unwrap(api.GET("/api/v1/dataset-versions/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => intervalFor(state.data && [state.data.state]),
  });
}

function intervalFor(states: VersionState[] | undefined): number | false {
  return states?.includes("inspecting") ? WHILE_INSPECTING_MS : false;
}

/** Without the entries that are not set: the API reads an empty filter as a filter. */
function given<T extends Record<string, string | undefined>>(entries: T): { [K in keyof T]?: string } {
  const kept = Object.entries(entries).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(kept) as { [K in keyof T]?: string };
}
