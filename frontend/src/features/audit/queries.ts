// SPDX-License-Identifier: Apache-2.0
// What the audit page reads: events, newest first, and whether their chain is whole.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

export interface AuditFilters {
  organisation?: string;
  actor?: string;
  kind_prefix?: string;
  subject?: string;
  /** Days, as "2026-11-22". */
  since?: string;
  until?: string;
  cursor?: string;
}

/** A day, as an address may hold it, at its first moment; anything else is no filter. */
function beginning(day: string | undefined): string | undefined {
  return day !== undefined && /^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00:00Z` : undefined;
}

function timed({ since, until, ...filters }: AuditFilters) {
  const [from, to] = [beginning(since), beginning(until)];
  return { ...filters, ...(from && { since: from }), ...(to && { until: to }) };
}

/** Where a file of all events that the filters leave is downloaded. */
export function exportAddress(filters: AuditFilters, form: "csv" | "jsonl"): string {
  const parameters = new URLSearchParams({ ...timed(filters), form });
  parameters.delete("cursor");
  return `/api/v1/events/export?${parameters.toString()}`;
}

export function eventsQuery(filters: AuditFilters) {
  const query = { ...timed(filters), limit: 50 };
  return queryOptions({
    queryKey: ["audit", query],
    queryFn: () => unwrap(api.GET("/api/v1/events", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** Reads all events, so only when asked for; administrators of the platform alone may. */
export const verificationQuery = queryOptions({
  queryKey: ["audit", "verification"],
  queryFn: () => unwrap(api.GET("/api/v1/events/verify")),
  enabled: false,
});
