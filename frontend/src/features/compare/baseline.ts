// SPDX-License-Identifier: Apache-2.0
// How far values are from those of the baseline, in the table and in what is saved of it.
import { csvOf } from "@/lib/download";

import { type Compared, type Value, valuesOf } from "./settings";

const DIGITS = 12; // of a difference: what lies beyond is of the computation

/** null: at least one of them is no number. */
export function differenceOf(value: Value, baseline: Value): number | null {
  return typeof value === "number" && typeof baseline === "number" ? Number((value - baseline).toPrecision(DIGITS)) : null;
}

/** A row each as CSV, with a column of differences behind each that has numbers, where there is a baseline. */
export function tableText(compared: readonly Compared[], columns: readonly string[], baselineId: string): string {
  const rows = compared.map((row) => ({ ...row, values: valuesOf(row) }));
  const baseline = rows.find(({ id }) => id === baselineId)?.values;
  const hasNumbers = (name: string) => baseline !== undefined && typeof baseline.get(name) === "number";
  const head = columns.flatMap((name) => (hasNumbers(name) ? [name, `${name} (difference)`] : [name]));
  const lines = rows.map(({ id, name: called, state, values }) => [
    id,
    called,
    state,
    ...columns.flatMap((name) => {
      const value = values.get(name) ?? null;
      return hasNumbers(name) ? [value, differenceOf(value, baseline?.get(name) ?? null)] : [value];
    }),
  ]);
  return csvOf([["job", "name", "state", ...head], ...lines]);
}
