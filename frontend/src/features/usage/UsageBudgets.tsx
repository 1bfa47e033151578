// SPDX-License-Identifier: Apache-2.0
// What of their budgets an organisation, its teams and its projects have used.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";

import type { OrganisationBrief, QuotaOwner } from "@/api/types";
import { pairsOf, textOfPairs, useSetting } from "@/components/chart/address/useSetting";
import { BudgetBars } from "@/components/display/quota/BudgetBars";
import { TextLink } from "@/components/display/TextLink";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SectionCard } from "@/components/layout/Section";
import { ownerKind } from "@/domain/scheduling/ownerKinds";
import { BurnDowns } from "@/features/usage/BurnDowns";
import { budgetsQuery } from "@/features/usage/queries";

export function UsageBudgets({ organisations }: { organisations: OrganisationBrief[] }) {
  const trees = useQueries({ queries: organisations.map(({ id }) => budgetsQuery(id)) });
  const owners = trees.flatMap(({ data }) => data?.owners ?? []).filter(({ budgets }) => budgets.length > 0);
  const waiting = trees.find(({ isSuccess }) => !isSuccess);
  if (waiting !== undefined) return <QueryResult of={waiting}>{() => null}</QueryResult>;
  if (owners.length === 0) {
    return (
      <EmptyState
        title={t`No budgets`}
        text={t`A budget says how many GPU-hours an organisation, team or project may use in a day or a month. Who may change a quota gives it one.`}
        action={<TextLink to="/quotas">{t`Quotas`}</TextLink>}
      />
    );
  }
  return (
    <SectionCard title={t`Budgets`} aside={<TextLink to="/quotas">{t`Quotas`}</TextLink>}>
      <Stack gap="md">
        {owners.map((owner) => (
          <OwnerBudgets key={owner.id} owner={owner} startsOpen={organisations.length === 1 && owner.kind === "organisation"} />
        ))}
      </Stack>
    </SectionCard>
  );
}

/** startsOpen: with its burn-down; of several organisations one asks for it. */
function OwnerBudgets({ owner, startsOpen }: { owner: QuotaOwner; startsOpen: boolean }) {
  const { id, kind, name, budgets } = owner;
  const [text, setText] = useSetting("burn", "");
  const asked = pairsOf(text);
  const isOpen = asked.get(id) === "open" || (startsOpen && asked.get(id) !== "closed");
  const toggle = () => setText(textOfPairs(asked.set(id, isOpen ? "closed" : "open")));
  return (
    <section aria-label={name}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={500} style={{ overflowWrap: "anywhere" }}>
          {name}{" "}
          <Text span size="xs" c="dimmed">
            {ownerKind(kind)}
          </Text>
        </Text>
        <Button variant="subtle" size="compact-xs" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? t`Hide the burn-down` : t`Burn-down`}
        </Button>
      </Group>
      {isOpen ? <BurnDowns owner={owner} /> : <BudgetBars name={name} budgets={budgets} />}
    </section>
  );
}
