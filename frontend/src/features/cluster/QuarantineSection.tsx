// SPDX-License-Identifier: Apache-2.0
// What the control loop could not read or handle, and left out so that everything else is scheduled.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge, Stack, Table, Text, Title } from "@mantine/core";

import type { Cluster } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { QUARANTINED_KINDS } from "@/domain/scheduling/quarantinedKinds";

type Item = Cluster["quarantined"][number];

export function QuarantineSection({ items }: { items: Item[] }) {
  if (items.length === 0) return null;
  return (
    <Stack component="section" gap="xs" aria-label={t`Quarantined`}>
      <Title order={2} size="h4">
        {t`Quarantined`}
      </Title>
      <Text size="sm" c="dimmed">
        {t`These could not be read or handled and were left out of scheduling rounds; everything else is scheduled as usual.`}
      </Text>
      <ScrollTable label={t`Quarantined`} head={[t`What`, t`Reason`, t`Since`, t`State`, t`Remedy`]} minWidth={800}>
        {items.map((item) => (
          <Table.Tr key={`${item.kind} ${item.name}`}>
            <Table.Td style={{ overflowWrap: "anywhere" }}>
              <span>
                {QUARANTINED_KINDS[item.kind]} {item.job ? <TextLink to={`/jobs/${item.job.id}`}>{item.job.name}</TextLink> : item.name}
              </span>
            </Table.Td>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{item.reason || "–"}</Table.Td>
            <Table.Td>
              <RelativeTime at={item.since} />
            </Table.Td>
            <Table.Td>
              <State item={item} />
            </Table.Td>
            <Table.Td>{item.remedy}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </Stack>
  );
}

function State({ item }: { item: Item }) {
  if (item.ended_at === null) return <Badge color="orange">{t`Left out`}</Badge>;
  return (
    <span>
      <Trans>
        Ended <RelativeTime at={item.ended_at} />
      </Trans>
    </span>
  );
}
