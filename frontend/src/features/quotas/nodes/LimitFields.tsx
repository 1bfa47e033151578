// SPDX-License-Identifier: Apache-2.0
// Fields for what a node of the tree, or a user there, may have: GPUs of single types, and what is counted.
import { t } from "@lingui/core/macro";
import { NumberInput, SimpleGrid, TextInput } from "@mantine/core";

import { asCount, type Count, type CountName, type Limits, type TypedLimits } from "@/features/quotas/nodes/typedLimits";
import { asTypes, typesText } from "@/features/quotas/nodes/typesText";

interface Props<Name extends CountName> {
  /** What holds now; undefined: there are no limits yet. */
  limits: Limits<Name> | undefined;
  counts: readonly Count<Name>[];
  typed: TypedLimits;
  onType: (change: TypedLimits) => void;
  errorOf: (field: string) => string | undefined;
}

export function LimitFields<Name extends CountName>({ limits, counts, typed, onType, errorOf }: Props<Name>) {
  const types = typed.types ?? typesText(limits?.gpus_by_type ?? {});
  const isUnreadable = asTypes(types) === null;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, sm: 4 }}>
      <TextInput
        label={t`GPUs by type`}
        description={t`as in A100: 2, T4: 4`}
        placeholder={t`No limit`}
        value={types}
        onChange={(event) => onType({ types: event.currentTarget.value })}
        error={isUnreadable ? t`Give types with numbers, as in A100: 2, T4: 4` : errorOf("gpus_by_type")}
      />
      {counts.map((count) => (
        <NumberInput
          key={count.name}
          label={count.label}
          description={count.description}
          placeholder={t`No limit`}
          min={0}
          allowNegative={false}
          allowDecimal={count.unit > 1}
          value={typed[count.name] ?? asCount(limits, count)}
          onChange={(value) => onType({ [count.name]: value })}
          error={errorOf(count.name)}
        />
      ))}
    </SimpleGrid>
  );
}
