// SPDX-License-Identifier: Apache-2.0
// The newest stored rounds: when, how long, what they applied, and where the shadow policy differed.
import { plural, t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Round } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { PagedTable } from "@/components/table/PagedTable";
import { number } from "@/lib/quantities";

import { roundsQuery } from "./queries";

export function Rounds() {
  const [cursor, setCursor] = useState<string>();
  const rounds = useQuery(roundsQuery(cursor));
  return (
    <PagedTable
      list={rounds}
      label={t`Rounds`}
      head={[t`Round`, t`When`, t`Policy`, t`Jobs`, t`Applied`, t`Duration`, t`Shadow`]}
      minWidth={820}
      empty={<EmptyState title={t`No rounds yet`} text={t`The control loop makes one every few seconds.`} />}
      onCursor={setCursor}
      row={(round) => (
        <Table.Tr key={round.id}>
          <Table.Td>{round.id}</Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>
            <RelativeTime at={round.at} />
          </Table.Td>
          <Table.Td>{round.policy}</Table.Td>
          <Table.Td>{number(round.n_jobs)}</Table.Td>
          <Table.Td>{round.error === "" ? appliedText(round) : <Text size="sm" c="red">{round.error}</Text>}</Table.Td>
          <Table.Td style={{ whiteSpace: "nowrap" }}>
            {t`${ms(round.round_ms)}, decide ${ms(round.decide_ms)}`}
          </Table.Td>
          <Table.Td>{shadowText(round)}</Table.Td>
        </Table.Tr>
      )}
    />
  );
}

/** "2 launches, 1 preempt" */
function appliedText({ applied }: Round): string {
  const counts = new Map<string, number>();
  for (const { decision } of applied) counts.set(decision, (counts.get(decision) ?? 0) + 1);
  return [...counts].map(([decision, n]) => `${n} × ${decision}`).join(", ") || t`nothing`;
}

function shadowText({ shadow }: Round): string {
  if (shadow === null) return "–";
  if (shadow.error !== "") return `${shadow.policy}: ${shadow.error}`;
  if (shadow.n_different === 0) return t`${shadow.policy}: same decisions`;
  return t`${shadow.policy}: different for ${plural(shadow.n_different, { one: "# job", other: "# jobs" })}`;
}

function ms(value: number): string {
  return t`${number(Math.round(value))} ms`;
}
