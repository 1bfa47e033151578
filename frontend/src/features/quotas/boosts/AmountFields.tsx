// SPDX-License-Identifier: Apache-2.0
// Fields for what a boost or a request adds to an owner's rules: to its guarantee and its limits, in sum and by type.
import { t } from "@lingui/core/macro";
import { TextInput } from "@mantine/core";

import type { QuotaBoost, QuotaOwner } from "@/api/types";
import { NumberInput } from "@/components/form/number/NumberInput";
import { asTypes } from "@/features/quotas/nodes/typesText";

export type Amounts = Pick<
  QuotaBoost,
  "extra_guarantee" | "extra_guarantee_by_type" | "extra_max_gpus" | "extra_gpus_by_type"
>;

/** While it is typed. guaranteedTypes: "A100: 2, T4: 4"; types: by type that is limited. */
export interface TypedAmounts {
  guarantee: string | number;
  guaranteedTypes: string;
  maxGpus: string | number;
  types: Record<string, string | number>;
}

export const NO_AMOUNTS: TypedAmounts = { guarantee: "", guaranteedTypes: "", maxGpus: "", types: {} };

interface Props {
  /** Its limits are what can be raised. */
  owner: QuotaOwner;
  typed: TypedAmounts;
  onType: (typed: TypedAmounts) => void;
  errorOf: (field: string) => string | undefined;
}

const WHOLE = { min: 0, allowNegative: false, allowDecimal: false };

export function AmountFields({ owner, typed, onType, errorOf }: Props) {
  return (
    <>
      <NumberInput
        {...{ label: t`More guaranteed GPUs`, placeholder: t`of any type`, ...WHOLE }}
        value={typed.guarantee}
        onChange={(guarantee) => onType({ ...typed, guarantee })}
        error={errorOf("extra_guarantee")}
      />
      <TextInput
        {...{ label: t`More guaranteed by type`, placeholder: t`as in A100: 2, T4: 4` }}
        value={typed.guaranteedTypes}
        onChange={(event) => onType({ ...typed, guaranteedTypes: event.currentTarget.value })}
        error={
          asTypes(typed.guaranteedTypes) === null
            ? t`Give types with numbers, as in A100: 2, T4: 4`
            : errorOf("extra_guarantee_by_type")
        }
      />
      {owner.max_gpus !== null && (
        <NumberInput
          {...{ label: t`More GPUs at most`, ...WHOLE }}
          value={typed.maxGpus}
          onChange={(maxGpus) => onType({ ...typed, maxGpus })}
          error={errorOf("extra_max_gpus")}
        />
      )}
      {Object.keys(owner.gpus_by_type).map((type) => (
        <NumberInput
          key={type}
          {...{ label: t`More ${type} GPUs at most`, ...WHOLE }}
          value={typed.types[type] ?? ""}
          onChange={(value) => onType({ ...typed, types: { ...typed.types, [type]: value } })}
          error={Number(typed.types[type]) > 0 ? errorOf("extra_gpus_by_type") : undefined}
        />
      ))}
    </>
  );
}

/** As the API has them; null where nothing is to be added, or a field cannot be read. */
export function amountsOf(typed: TypedAmounts): Amounts | null {
  const guaranteed = asTypes(typed.guaranteedTypes);
  if (guaranteed === null) return null;
  const limits = Object.entries(typed.types).map(([type, n]) => [type, Number(n)] as const);
  const amounts = {
    extra_guarantee: Number(typed.guarantee),
    extra_guarantee_by_type: positive(Object.entries(guaranteed)),
    extra_max_gpus: Number(typed.maxGpus),
    extra_gpus_by_type: positive(limits),
  };
  return addedText(amounts) === "" ? null : amounts;
}

/** "+2 guaranteed, +1 A100 guaranteed, +4 at most, +1 A100 at most" */
export function addedText(amounts: Amounts): string {
  const { extra_guarantee, extra_guarantee_by_type, extra_max_gpus, extra_gpus_by_type } = amounts;
  return [
    extra_guarantee > 0 && t`+${extra_guarantee} guaranteed`,
    ...Object.entries(extra_guarantee_by_type).map(([type, n]) => t`+${n} ${type} guaranteed`),
    extra_max_gpus > 0 && t`+${extra_max_gpus} at most`,
    ...Object.entries(extra_gpus_by_type).map(([type, n]) => t`+${n} ${type} at most`),
  ]
    .filter(Boolean)
    .join(", ");
}

function positive(counts: (readonly [string, number])[]): Record<string, number> {
  return Object.fromEntries(counts.filter(([, n]) => n > 0));
}
