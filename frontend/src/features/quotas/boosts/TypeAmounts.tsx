// SPDX-License-Identifier: Apache-2.0
// Fields for GPUs to add to the limits of single types; nothing where no type is limited.
import { t } from "@lingui/core/macro";
import { Text } from "@mantine/core";

import { NumberInput } from "@/components/form/number/NumberInput";

export type TypedAmounts = Record<string, string | number>;

interface Props {
  /** Limits of the owner, by type. */
  limits: Record<string, number>;
  typed: TypedAmounts;
  onType: (typed: TypedAmounts) => void;
  error: string | undefined;
}

export function TypeAmounts({ limits, typed, onType, error }: Props) {
  return Object.keys(limits).map((type) => (
    <NumberInput
      key={type}
      {...{ label: t`More ${type} GPUs at most`, w: 190, min: 0, allowNegative: false, allowDecimal: false }}
      value={typed[type] ?? ""}
      onChange={(value) => onType({ ...typed, [type]: value })}
      error={Number(typed[type]) > 0 ? error : undefined}
    />
  ));
}

/** What a guarantee is of, where single types are limited. */
export function GuaranteeNote({ limits }: { limits: Record<string, number> }) {
  if (Object.keys(limits).length === 0) return null;
  return (
    <Text size="xs" c="dimmed">
      {t`What is added to a guarantee is of any type; of single types the limits are raised.`}
    </Text>
  );
}

/** As the API has them: only types of which there is to be more. */
export function amountsOf(typed: TypedAmounts): Record<string, number> {
  return Object.fromEntries(
    Object.entries(typed)
      .map(([type, n]) => [type, Number(n)] as const)
      .filter(([, n]) => n > 0),
  );
}
