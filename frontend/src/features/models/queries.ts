// What the pages of models read.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { VersionState } from "@/api/types";

/** Until validation is over there is nothing to see; the stream tells too, but this does not depend on it. */
const WHILE_INSPECTING_MS = 2_000;

export type Source = "upload" | "training";

export function modelsQuery(filters: { project: string | undefined; cursor: string | undefined }) {
  const { project, cursor } = filters;
  return queryOptions({
    queryKey: ["models", filters],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/models", { params: { query: { ...(project && { project }), ...(cursor && { cursor }) } } }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => intervalFor(state.data?.results.map((each) => each.latest_version?.state)),
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
        api.GET("/api/v1/models/{id}/versions", {
          params: { path: { id }, query: { source, ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => intervalFor(state.data?.results.map((version) => version.state)),
  });
}

export function versionQuery(id: string) {
  return queryOptions({
    queryKey: ["model", "version", id],
    queryFn: () => unwrap(api.GET("/api/v1/model-versions/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => intervalFor([state.data?.state]),
  });
}

function intervalFor(states: (VersionState | undefined)[] | undefined): number | false {
  return states?.includes("inspecting") ? WHILE_INSPECTING_MS : false;
}
