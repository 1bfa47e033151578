// SPDX-License-Identifier: Apache-2.0
// Limits of users within an owner: read, changed, removed.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { QuotaOwner, UserQuota, UserQuotaPatch } from "@/api/types";

type Named = Pick<QuotaOwner, "kind" | "id">;

export function userQuotasQuery(owner: Named) {
  return queryOptions({ queryKey: ["user-quotas", owner.id], queryFn: () => found(owner) });
}

function found({ kind, id }: Named) {
  const request = { params: { path: { id } } };
  if (kind === "organisation") return unwrap(api.GET("/api/v1/organisations/{id}/quota/users", request));
  if (kind === "team") return unwrap(api.GET("/api/v1/teams/{id}/quota/users", request));
  return unwrap(api.GET("/api/v1/projects/{id}/quota/users", request));
}

export function limited({ kind, id }: Named, body: UserQuotaPatch): Promise<UserQuota> {
  const request = { params: { path: { id } }, body };
  if (kind === "organisation") return unwrap(api.PATCH("/api/v1/organisations/{id}/quota/users", request));
  if (kind === "team") return unwrap(api.PATCH("/api/v1/teams/{id}/quota/users", request));
  return unwrap(api.PATCH("/api/v1/projects/{id}/quota/users", request));
}

export function removed({ id, version }: Pick<UserQuota, "id" | "version">): Promise<unknown> {
  return unwrap(api.DELETE("/api/v1/user-quotas/{id}", { params: { path: { id }, query: { version } } }));
}
