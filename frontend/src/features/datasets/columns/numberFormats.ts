// SPDX-License-Identifier: Apache-2.0
// The formats in which a column's numbers may be written, each with what it makes of one of the column's values.
import { t } from "@lingui/core/macro";

import { AUTOMATIC } from "@/features/datasets/columns/choice";
import type { ColumnStatistics, NumberReadings } from "@/features/datasets/columns/statistics";

/** What can be chosen; formats that do not read the value are left out, unless it is the one in use. */
export function numberFormats({ numberFormat, type }: ColumnStatistics, readings: NumberReadings): { value: string; label: string }[] {
  const { text, point, comma } = readings;
  const isRead = numberFormat !== "" || type === "number";
  const example = equation(text, numberFormat === "comma" ? comma : point);
  return [
    { value: AUTOMATIC, label: isRead && example ? t`Numbers: ${example}` : t`Numbers: no format found` },
    ...[
      { value: "comma", label: t`Decimal comma: ${equation(text, comma)}`, number: comma },
      { value: "point", label: t`Decimal point: ${equation(text, point)}`, number: point },
    ]
      .filter(({ value, number }) => number !== undefined || value === numberFormat)
      .map(({ value, label }) => ({ value, label })),
  ];
}

function equation(text: string, number: number | undefined): string {
  return number === undefined ? "" : `${text} = ${String(number)}`;
}
