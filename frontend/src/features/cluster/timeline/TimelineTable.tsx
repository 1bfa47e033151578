// SPDX-License-Identifier: Apache-2.0
// The timeline as a table: the same attempts, for those who read rather than look.
import { t } from "@lingui/core/macro";
import { Button, Table } from "@mantine/core";
import { useState } from "react";

import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { clock, duration } from "@/lib/time";

import { type NodeRow, barName, gpusText } from "./rows";

const AT_ONCE = 200;

export function TimelineTable({ since, nodes }: { since: string; nodes: readonly NodeRow[] }) {
  const [most, setMost] = useState(AT_ONCE);
  const bars = nodes.flatMap((node) => node.bars);
  const at = (seconds: number | null) => (seconds === null ? "–" : clock(new Date(new Date(since).getTime() + 1000 * seconds).toISOString()));
  return (
    <>
      <ScrollTable label={t`Attempts`} head={[t`Node`, t`GPUs`, t`Job`, t`Organisation`, t`Waited`, t`From`, t`To`, t`Predicted finish`]} minWidth={840}>
        {bars.slice(0, most).map((bar) => (
          <Table.Tr key={bar.key} style={{ fontVariantNumeric: "tabular-nums" }}>
            <Table.Td>{bar.node}</Table.Td>
            <Table.Td>{gpusText(bar)}</Table.Td>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{bar.job ? <TextLink to={`/jobs/${bar.job.id}`}>{barName(bar)}</TextLink> : barName(bar)}</Table.Td>
            <Table.Td>{bar.job?.organisation ?? "–"}</Table.Td>
            <Table.Td title={bar.waitedS === null ? undefined : t`submitted ${clock(bar.job?.submitted_at)}`}>{duration(bar.waitedS)}</Table.Td>
            <Table.Td>{at(bar.sinceS)}</Table.Td>
            <Table.Td>{bar.p50S === null ? at(bar.untilS) : t`running`}</Table.Td>
            <Table.Td>{at(bar.p50S)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      {bars.length > most && (
        <Button variant="default" onClick={() => setMost(most + AT_ONCE)} style={{ alignSelf: "center" }}>
          {t`Show ${Math.min(AT_ONCE, bars.length - most)} more`}
        </Button>
      )}
    </>
  );
}
