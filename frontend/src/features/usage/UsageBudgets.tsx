// SPDX-License-Identifier: Apache-2.0
// What of their budgets an organisation, its teams and its projects have used; nothing where none has a budget.
import { t } from "@lingui/core/macro";
import { Stack, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";

import type { OrganisationBrief } from "@/api/types";
import { BudgetBars } from "@/components/display/quota/BudgetBars";
import { TextLink } from "@/components/display/TextLink";
import { SectionCard } from "@/components/layout/Section";
import { budgetsQuery } from "@/features/usage/queries";

export function UsageBudgets({ organisations }: { organisations: OrganisationBrief[] }) {
  const trees = useQueries({ queries: organisations.map(({ id }) => budgetsQuery(id)) });
  const owners = trees.flatMap(({ data }) => data?.owners ?? []).filter(({ budgets }) => budgets.length > 0);
  if (owners.length === 0) return null;
  return (
    <SectionCard title={t`Budgets`} aside={<TextLink to="/quotas">{t`Quotas`}</TextLink>}>
      <Stack gap="md">
        {owners.map(({ id, kind, name, budgets }) => (
          <div key={id}>
            <Text size="sm" fw={500} style={{ overflowWrap: "anywhere" }}>
              {name}{" "}
              <Text span size="xs" c="dimmed">
                {kind}
              </Text>
            </Text>
            <BudgetBars name={name} budgets={budgets} />
          </div>
        ))}
      </Stack>
    </SectionCard>
  );
}
