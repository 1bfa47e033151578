// SPDX-License-Identifier: Apache-2.0
// What the usage page reads: GPU-hours by day, and by what a person chose.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { BurnDown, QuotaOwner, UsageDimension } from "@/api/types";

export interface UsageWindow {
  organisation?: string;
  /** With all teams below it. */
  team?: string;
  /** Days of UTC, as "2026-11-22"; the report has the whole of both. */
  since: string;
  until: string;
}

const DAY_MS = 86_400_000;

/** The query of a report, as the API wants it. */
export function usageParams({ organisation, team, since, until }: UsageWindow, by: UsageDimension) {
  const end = new Date(Date.parse(until) + DAY_MS).toISOString();
  return { by, since: `${since}T00:00:00Z`, until: end, ...(organisation && { organisation }), ...(team && { team }) };
}

export function usageQuery(window: UsageWindow, by: UsageDimension) {
  const query = usageParams(window, by);
  return queryOptions({
    queryKey: ["usage", query],
    queryFn: () => unwrap(api.GET("/api/v1/usage", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** The tree of an organisation's quotas, whose budgets are shown. */
export function budgetsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["quota-tree", organisationId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/organisations/{id}/quota-tree", { params: { path: { id: organisationId } } })),
  });
}

/** How an owner's budgets are used over time. Its key begins as the tree's: what touches the one touches the other. */
export function burnDownQuery({ kind, id }: Pick<QuotaOwner, "kind" | "id">) {
  return queryOptions({
    queryKey: ["quota-tree", "burn-down", id],
    queryFn: () => burnDowns(kind, { params: { path: { id } } }),
  });
}

function burnDowns(kind: QuotaOwner["kind"], request: { params: { path: { id: string } } }): Promise<BurnDown[]> {
  if (kind === "organisation") return unwrap(api.GET("/api/v1/organisations/{id}/quota/burn-down", request));
  if (kind === "team") return unwrap(api.GET("/api/v1/teams/{id}/quota/burn-down", request));
  return unwrap(api.GET("/api/v1/projects/{id}/quota/burn-down", request));
}

/** A day of so many days ago, in UTC. */
export function daysAgo(n: number, now = Date.now()): string {
  return new Date(now - n * DAY_MS).toISOString().slice(0, 10);
}

/** A day as an address may hold it; anything else is none. */
export function day(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}
