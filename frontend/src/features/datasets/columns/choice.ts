// SPDX-License-Identifier: Apache-2.0
// A choice of columns as the form holds it, and as the API takes it.
import { t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import type { ColumnChoice } from "@/api/types";
import type { TableStatistics } from "@/features/datasets/columns/statistics";

export const AUTOMATIC = "";
const IGNORED = "ignore";

export interface ChoiceValues {
  target: string;
  /** By the column's name: number, category, date, text, split, IGNORED or AUTOMATIC. */
  uses: Record<string, string>;
  /** By the column's name: indicator, fill or drop. */
  missing: Record<string, string>;
  /** By the column's name, of CSV: point, comma or AUTOMATIC. */
  numbers: Record<string, string>;
}

export const USES = [
  { value: "number", label: t`Number` },
  { value: "category", label: t`Category` },
  { value: "date", label: t`Date` },
  { value: "text", label: t`Text` },
  { value: "split", label: t`Train or test part` },
  { value: IGNORED, label: t`Leave out` },
];

export const MISSING = [
  { value: AUTOMATIC, label: t`Fill and mark` },
  { value: "fill", label: t`Fill` },
  { value: "drop", label: t`Leave the row out` },
];

/** What a version was chosen with; its target may also be one that inspection found. */
export function valuesOf(options: unknown, { columns }: TableStatistics): ChoiceValues {
  const given = isRecord(options) ? options : {};
  const found = columns.find(({ role }) => role === "target")?.name ?? "";
  const ignored = Array.isArray(given.ignore) ? given.ignore.map(String) : [];
  return {
    target: typeof given.target === "string" ? given.target : found,
    uses: { ...words(given.types), ...Object.fromEntries(ignored.map((name) => [name, IGNORED])) },
    missing: words(given.missing),
    numbers: words(given.numbers),
  };
}

/** What to send. Of the target only its type counts: it is not left out, and rows without it are. */
export function choiceOf({ target, uses, missing, numbers }: ChoiceValues): ColumnChoice {
  const used = Object.entries(uses).filter(([, use]) => use !== AUTOMATIC);
  const ignore = used.filter(([name, use]) => use === IGNORED && name !== target).map(([name]) => name);
  const types = Object.fromEntries(used.filter(([, use]) => use !== IGNORED)) as ColumnChoice["types"];
  const treated = Object.entries(missing).filter(([name, how]) => how !== AUTOMATIC && name !== target);
  const formats = Object.entries(numbers).filter(([name, format]) => format !== AUTOMATIC && uses[name] !== IGNORED);
  return {
    ...(target && { target }),
    ...(ignore.length > 0 && { ignore }),
    ...(types && Object.keys(types).length > 0 && { types }),
    ...(treated.length > 0 && { missing: Object.fromEntries(treated) as ColumnChoice["missing"] }),
    ...(formats.length > 0 && { numbers: Object.fromEntries(formats) as ColumnChoice["numbers"] }),
  };
}

function words(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
