// SPDX-License-Identifier: Apache-2.0
// Budgets of GPU-hours as bars: how much of each is used, and what happens when nothing is left.
import { t } from "@lingui/core/macro";
import { Group, Progress, Stack, Text } from "@mantine/core";

import type { BudgetUse } from "@/api/types";
import { budgetName, effectText, NEARLY_USED, usedPart, usedText } from "@/domain/scheduling/quota/budget";

export function BudgetBars({ name, budgets }: { name: string; budgets: BudgetUse[] }) {
  return (
    <Stack gap={6} component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Budgets of ${name}`}>
      {budgets.map((budget) => (
        <li key={`${budget.period} ${budget.gpu_type}`}>
          <Group justify="space-between" gap="xs">
            <Text size="xs">{budgetName(budget)}</Text>
            <Text size="xs">{usedText(budget)}</Text>
          </Group>
          <Progress
            size="sm"
            value={100 * usedPart(budget)}
            color={budget.is_exhausted ? "red" : usedPart(budget) >= NEARLY_USED ? "orange" : undefined}
            aria-label={t`${budgetName(budget)} of ${name}: ${usedText(budget)} used`}
          />
          {budget.is_exhausted && (
            <Text size="xs" c="dimmed">
              {effectText(budget)}
            </Text>
          )}
        </li>
      ))}
    </Stack>
  );
}
