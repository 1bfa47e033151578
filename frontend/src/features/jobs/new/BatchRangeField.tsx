// SPDX-License-Identifier: Apache-2.0
// The largest batch that the scheduler may choose. It is the hyperparameter max_batch_size, which this input sets.
import { t } from "@lingui/core/macro";
import { NumberInput } from "@mantine/core";

import { isRecord } from "@/api/client";

import type { Draft } from "./draft";

const NAME = "max_batch_size";

interface BatchRangeFieldProps {
  draft: Draft;
  onChange: (part: Partial<Draft>) => void;
}

export function BatchRangeField({ draft, onChange }: BatchRangeFieldProps) {
  const given = objectIn(draft.hyperparameters);
  const most = given?.[NAME];
  const isTooSmall = typeof most === "number" && draft.batch_size !== "" && most < Number(draft.batch_size);
  return (
    <NumberInput
      label={t`Largest batch size`}
      description={t`The scheduler chooses the batch up to this while the job trains, by the measured gradient noise scale; the learning rate follows`}
      placeholder={t`Fixed batch`}
      min={1}
      allowDecimal={false}
      inputWrapperOrder={["label", "input", "description", "error"]}
      disabled={given === null}
      value={typeof most === "number" ? most : ""}
      onChange={(value) => onChange({ hyperparameters: withLargest(given ?? {}, value) })}
      error={isTooSmall ? t`At least the batch size, ${String(draft.batch_size)}.` : undefined}
    />
  );
}

/** The text of the hyperparameters with another largest batch; "" takes it out. */
function withLargest(given: Record<string, unknown>, value: number | string): string {
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => name !== NAME));
  const changed = value === "" ? others : { ...others, [NAME]: Number(value) };
  return Object.keys(changed).length === 0 ? "" : JSON.stringify(changed);
}

/** {} when the text is empty, null when it is not an object. */
function objectIn(text: string): Record<string, unknown> | null {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
