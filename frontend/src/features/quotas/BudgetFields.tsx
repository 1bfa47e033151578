// SPDX-License-Identifier: Apache-2.0
// The budgets of an owner as fields: GPU-hours, period, what happens when they are used up, and for which GPUs.
import { t } from "@lingui/core/macro";
import { Button, Fieldset, Group, NativeSelect, NumberInput, Stack, Text, TextInput } from "@mantine/core";

import { EFFECTS, PERIODS } from "@/domain/scheduling/quota/budget";
import { NEW_BUDGET, type TypedBudget } from "@/features/quotas/rules";

interface Props {
  budgets: TypedBudget[];
  onType: (budgets: TypedBudget[]) => void;
  errorOf: (field: string) => string | undefined;
}

export function BudgetFields({ budgets, onType, errorOf }: Props) {
  function change(index: number, over: Partial<TypedBudget>) {
    onType(budgets.map((budget, i) => (i === index ? { ...budget, ...over } : budget)));
  }
  return (
    <Fieldset legend={t`Budgets of GPU-hours`}>
      <Stack gap="sm">
        {budgets.length === 0 && (
          <Text size="sm" c="dimmed">
            {t`None: GPU-hours are counted, and not limited.`}
          </Text>
        )}
        {budgets.map((budget, index) => (
          <Group key={index} gap="xs" align="end" role="group" aria-label={t`Budget ${index + 1}`}>
            <NumberInput
              label={t`GPU-hours`}
              w={120}
              min={0}
              allowNegative={false}
              value={budget.gpu_hours}
              onChange={(value) => change(index, { gpu_hours: value })}
              error={errorOf(`budgets.${index}.gpu_hours`)}
            />
            <NativeSelect
              label={t`Period`}
              data={choices(PERIODS)}
              value={budget.period}
              onChange={(event) => change(index, { period: event.currentTarget.value as TypedBudget["period"] })}
              error={errorOf(`budgets.${index}.period`)}
            />
            <NativeSelect
              label={t`When used up`}
              data={choices(EFFECTS)}
              value={budget.on_exhausted}
              onChange={(event) =>
                change(index, { on_exhausted: event.currentTarget.value as TypedBudget["on_exhausted"] })
              }
              error={errorOf(`budgets.${index}.on_exhausted`)}
            />
            <TextInput
              label={t`GPU type`}
              placeholder={t`All`}
              w={120}
              value={budget.gpu_type}
              onChange={(event) => change(index, { gpu_type: event.currentTarget.value })}
              error={errorOf(`budgets.${index}.gpu_type`)}
            />
            <Button
              variant="subtle"
              color="red"
              aria-label={t`Remove budget ${index + 1}`}
              onClick={() => onType(budgets.filter((_, i) => i !== index))}
            >
              {t`Remove`}
            </Button>
          </Group>
        ))}
        <Group>
          <Button size="compact-sm" variant="default" onClick={() => onType([...budgets, NEW_BUDGET])}>
            {t`Add a budget`}
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}

function choices(labels: Record<string, string>) {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}
