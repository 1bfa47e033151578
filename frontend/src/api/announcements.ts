// SPDX-License-Identifier: Apache-2.0
// What administrators say to everybody, or to an organisation: what is said now, and all of it for administrators.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { api, unwrap } from "@/api/client";
import type { Announcement } from "@/api/types";

const LATER_MS = 1_000; // than the moment, so that the server has seen it, too
const LONGEST_MS = 24 * 3_600_000; // browsers take no delay above 24 days

export const announcementsKey = ["announcements"];

export const currentAnnouncementsQuery = queryOptions({
  queryKey: [...announcementsKey, "current"],
  queryFn: () => unwrap(api.GET("/api/v1/announcements/current")),
});

export function readAnnouncements(query: { cursor?: string }) {
  return unwrap(api.GET("/api/v1/announcements", { params: { query } }));
}

/** What is said now. The stream reports changes; it is read again when one of them begins or ends by itself. */
export function useCurrentAnnouncements(): Announcement[] {
  const queries = useQueryClient();
  const { data, dataUpdatedAt } = useQuery(currentAnnouncementsQuery);
  const nextAt = data?.next_change_at ?? null;
  useEffect(() => {
    if (nextAt === null) return undefined;
    const wait_ms = Math.max(0, Date.parse(nextAt) - Date.now()) + LATER_MS;
    const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: announcementsKey }), Math.min(wait_ms, LONGEST_MS));
    return () => clearTimeout(timer);
  }, [nextAt, dataUpdatedAt, queries]);
  return data?.announcements ?? [];
}
