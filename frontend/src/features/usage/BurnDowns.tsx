// SPDX-License-Identifier: Apache-2.0
// How an owner's budgets are used over their period: what was used, even use, the prediction, and the budget itself.
import { t } from "@lingui/core/macro";
import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import type { BurnDown, QuotaOwner } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { QueryResult } from "@/components/feedback/QueryResult";
import { budgetName, effectText, usedText } from "@/domain/scheduling/quota/budget";
import { burnDownLines, burnDownText, csvOfBurnDown } from "@/features/usage/burnDown";
import { burnDownQuery } from "@/features/usage/queries";
import { clock } from "@/lib/time";

import classes from "./BurnDowns.module.css";

export function BurnDowns({ owner }: { owner: Pick<QuotaOwner, "kind" | "id" | "name"> }) {
  const found = useQuery(burnDownQuery(owner));
  return (
    <QueryResult of={found} label={t`Loading the burn-down`}>
      {(budgets) => (
        <Stack gap="md" component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Budgets of ${owner.name}`}>
          {budgets.map((one) => (
            <li key={`${one.period} ${one.gpu_type}`}>
              <BurnDownChart of={one} name={owner.name} />
            </li>
          ))}
        </Stack>
      )}
    </QueryResult>
  );
}

const KINDS = [
  { kind: "used", label: t`used` },
  { kind: "even", label: t`even use` },
  { kind: "predicted", label: t`predicted` },
  { kind: "budget", label: t`budget` },
] as const;

function BurnDownChart({ of, name }: { of: BurnDown; name: string }) {
  const lines = burnDownLines(of);
  const title = budgetName(of);
  const drawing = useRef<HTMLDivElement>(null);
  return (
    <Stack gap={4} ref={drawing}>
      <Group justify="space-between" gap="xs">
        <Text size="xs">
          {title}: {usedText(of)}
        </Text>
        <Group gap="sm">
          {KINDS.filter(({ kind }) => kind !== "even" || lines.even !== null).map(({ kind, label }) => (
            <Group key={kind} gap={6}>
              <svg className={classes.mark} viewBox="0 0 18 2" aria-hidden>
                <line x1="0" x2="18" y1="1" y2="1" className={classes.line} data-kind={kind} />
              </svg>
              <Text size="xs">{label}</Text>
            </Group>
          ))}
          <FigureMenu name={t`${title} of ${name}`} of={drawing} csv={() => csvOfBurnDown(of)} />
        </Group>
      </Group>
      <svg className={classes.chart} viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={t`${title} of ${name}: ${usedText(of)} used. ${burnDownText(of)}`}>
        <line x1="0" x2="100" y1={lines.budgetY} y2={lines.budgetY} className={classes.line} data-kind="budget" />
        {lines.even !== null && <polyline points={lines.even} className={classes.line} data-kind="even" />}
        <polyline points={lines.predicted} className={classes.line} data-kind="predicted" />
        <polyline points={lines.used} className={classes.line} data-kind="used" />
      </svg>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {clock(of.began_at)}
        </Text>
        <Text size="xs" c="dimmed">
          {clock(lines.endsAt)}
        </Text>
      </Group>
      <Text size="xs">
        {burnDownText(of)} {effectText(of)}
      </Text>
    </Stack>
  );
}
