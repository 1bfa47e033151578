// SPDX-License-Identifier: Apache-2.0
// A limit as a row: name, limit, and what is used of it.
import { t } from "@lingui/core/macro";

export interface LimitRow {
  label: string;
  /** What is used; null where it is not known, as of limits of every user. */
  used: number | null;
  most: number;
  shown: (n: number) => string;
}

/** Nothing where there is no limit. */
export function limitRow(
  label: string,
  most: number | null,
  used: number | null | undefined,
  shown: (n: number) => string,
): LimitRow | null {
  return most === null ? null : { label, most, used: used ?? null, shown };
}

/** "2 of 4", or "4" where nothing is known to be used. */
export function limitText({ used, most, shown }: LimitRow): string {
  return used === null ? shown(most) : t`${shown(used)} of ${shown(most)}`;
}

/** The part that is used, 0 to 1. */
export function limitPart({ used, most }: LimitRow): number {
  if (used === null) return 0;
  return most === 0 ? 1 : Math.min(1, used / most);
}
