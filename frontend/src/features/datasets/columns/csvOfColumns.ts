// SPDX-License-Identifier: Apache-2.0
// What the distributions of a table's columns draw, as numbers: a row for each bar.
import { csvOf } from "@/lib/download";

import type { ColumnStatistics } from "./statistics";

type Bar = (string | number | null | undefined)[];

/** Bars of a histogram have `from` and `to`, dates in seconds since 1970; those of categories have `value`. */
export function csvOfColumns(columns: readonly ColumnStatistics[]): string {
  const bars = columns.flatMap(({ name, histogram, top }): Bar[] => {
    if (histogram) return histogram.counts.map((n, at) => [name, histogram.edges[at], histogram.edges[at + 1], null, n]);
    return top.map(({ value, n }) => [name, null, null, value, n]);
  });
  return csvOf([["column", "from", "to", "value", "n"], ...bars]);
}
