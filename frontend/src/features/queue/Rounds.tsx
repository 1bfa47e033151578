// SPDX-License-Identifier: Apache-2.0
// The newest stored rounds: when, how long, what they applied, and where the shadow policy differed.
import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Round } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { PagedTable } from "@/components/table/PagedTable";
import { count, number } from "@/lib/quantities";

import { roundsQuery } from "./queries";

export function Rounds() {
  const [cursor, setCursor] = useState<string>();
  const rounds = useQuery(roundsQuery(cursor));
  return (
    <PagedTable
      list={rounds}
      label="Rounds"
      head={["Round", "When", "Policy", "Jobs", "Applied", "Duration", "Shadow"]}
      minWidth={820}
      empty={<EmptyState title="No rounds yet" text="The control loop makes one every few seconds." />}
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
            {ms(round.round_ms)}, decide {ms(round.decide_ms)}
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
  return [...counts].map(([decision, n]) => `${n} × ${decision}`).join(", ") || "nothing";
}

function shadowText({ shadow }: Round): string {
  if (shadow === null) return "–";
  if (shadow.error !== "") return `${shadow.policy}: ${shadow.error}`;
  if (shadow.n_different === 0) return `${shadow.policy}: same decisions`;
  return `${shadow.policy}: different for ${count(shadow.n_different, "job")}`;
}

function ms(value: number): string {
  return `${number(Math.round(value))} ms`;
}
