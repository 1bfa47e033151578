// SPDX-License-Identifier: Apache-2.0
// What the timeline reads: page by page of nodes, in one window of time.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Timeline, TimelineWindow } from "@/api/types";

export const WINDOW_S: Record<TimelineWindow, number> = { "1h": 3600, "6h": 21_600, "1d": 86_400, "7d": 604_800 };

export function isWindow(text: string | undefined): text is TimelineWindow {
  return text !== undefined && text in WINDOW_S;
}

/** So many pages of nodes, one after the other: where one ends says where the next begins. Up to now it is read again with rounds. */
export const timelineQuery = (window: TimelineWindow, until: string | undefined, nPages: number) =>
  queryOptions({
    queryKey: ["timeline", window, until, nPages],
    queryFn: async () => {
      const pages = [await pageAfter(window, until, "")];
      for (let after = pages[0]?.next_after; after && pages.length < nPages; after = pages.at(-1)?.next_after) {
        pages.push(await pageAfter(window, until, after));
      }
      return pages;
    },
    placeholderData: keepPreviousData,
  });

function pageAfter(window: TimelineWindow, until: string | undefined, after: string): Promise<Timeline> {
  const query = { window, ...(until && { until }), ...(after && { after }) };
  return unwrap(api.GET("/api/v1/cluster/timeline", { params: { query } }));
}
