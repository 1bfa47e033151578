// SPDX-License-Identifier: Apache-2.0
// When a boost begins, as it is typed and as the API has it; and from when until when it counts, in words.
import { t } from "@lingui/core/macro";

import { weekdayClock } from "@/lib/time";

export interface TypedBegin {
  isLater: boolean;
  /** Local time, as <input type="datetime-local"> has it; "" until it is given. */
  at: string;
}

export const AT_ONCE: TypedBegin = { isLater: false, at: "" };

export function isComplete({ isLater, at }: TypedBegin): boolean {
  return !isLater || at !== "";
}

/** starts_at null: at once. lasts_ms: from the beginning on; null: for good. */
export function timesOf({ isLater, at }: TypedBegin, lasts_ms: number | null): { starts_at: string | null; ends_at: string | null } {
  const begin = isLater ? new Date(at) : new Date();
  return {
    starts_at: isLater ? begin.toISOString() : null,
    ends_at: lasts_ms === null ? null : new Date(begin.getTime() + lasts_ms).toISOString(),
  };
}

/** "from Mon 14:00 to Fri 18:00" */
export function windowText({ starts_at, ends_at }: { starts_at: string; ends_at: string }): string {
  return t`from ${weekdayClock(starts_at)} to ${weekdayClock(ends_at)}`;
}
