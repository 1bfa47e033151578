// SPDX-License-Identifier: Apache-2.0
// What the page of quotas reads.
import { queryOptions, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { QuotaOwner, QuotaVersion } from "@/api/types";
import { everyPage } from "@/lib/cursor";

export function quotaQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["quota", organisationId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/organisations/{id}/quota", { params: { path: { id: organisationId } } })),
  });
}

export function quotaTreeQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["quota-tree", organisationId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/organisations/{id}/quota-tree", { params: { path: { id: organisationId } } })),
  });
}

/** Reads what owners have anew, after a change. */
export function useReloadedTree(organisationId: string): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey });
}

export const quotaRequestsKey = ["quota-requests"];

const ANSWERED = 20;

/** All that wait, then what was answered lately; each the newest first. */
export function quotaRequestsQuery(organisationId: string) {
  const read = (query: { is_waiting: boolean; limit: number; cursor?: string }) =>
    unwrap(api.GET("/api/v1/quota-requests", { params: { query: { organisation: organisationId, ...query } } }));
  return queryOptions({
    queryKey: [...quotaRequestsKey, organisationId],
    queryFn: async () => {
      const waiting = everyPage((page) => read({ is_waiting: true, ...page }));
      const answered = read({ is_waiting: false, limit: ANSWERED });
      return [...(await waiting), ...(await answered).results];
    },
  });
}

/** Who changed an owner's quota, the newest change first. */
export function quotaVersionsQuery({ kind, id }: Pick<QuotaOwner, "kind" | "id">) {
  return queryOptions({ queryKey: ["quota-versions", id], queryFn: () => versions(kind, { params: { path: { id } } }) });
}

function versions(kind: string, request: { params: { path: { id: string } } }): Promise<QuotaVersion[]> {
  if (kind === "organisation") return unwrap(api.GET("/api/v1/organisations/{id}/quota/versions", request));
  if (kind === "team") return unwrap(api.GET("/api/v1/teams/{id}/quota/versions", request));
  return unwrap(api.GET("/api/v1/projects/{id}/quota/versions", request));
}
