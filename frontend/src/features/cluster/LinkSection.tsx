// SPDX-License-Identifier: Apache-2.0
// What network links really gave to gangs, next to what was declared.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge, Stack, Table, Text, Title } from "@mantine/core";

import type { Cluster } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ScrollTable } from "@/components/table/ScrollTable";
import { bandwidth } from "@/features/cluster/format";

type Link = Cluster["links"][number];

export function LinkSection({ links }: { links: Link[] }) {
  if (links.length === 0) return null;
  return (
    <Stack component="section" gap="xs" aria-label={t`Measured links`}>
      <Title order={2} size="h4">
        {t`Measured links`}
      </Title>
      <Text size="sm" c="dimmed">
        {t`The most that a gang lately got through each link. A slow one is scheduled with what it really gives.`}
      </Text>
      <ScrollTable label={t`Measured links`} head={[t`Link`, t`Declared`, t`Measured`, t`State`]} minWidth={600}>
        {links.map((link) => (
          <Table.Tr key={`${link.kind} ${link.name}`}>
            <Table.Td>{link.kind === "nic" ? t`Node ${link.name}` : t`Uplink of rack ${link.name}`}</Table.Td>
            <Table.Td>{bandwidth(link.declared_bps)}</Table.Td>
            <Table.Td>{bandwidth(link.measured_bps)}</Table.Td>
            <Table.Td>
              <State link={link} />
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </Stack>
  );
}

function State({ link }: { link: Link }) {
  if (link.slow_since === null) return <>{t`As declared, as far as is known`}</>;
  return (
    <span>
      <Trans>
        <Badge color="orange">Slow</Badge> since <RelativeTime at={link.slow_since} />
      </Trans>
    </span>
  );
}
