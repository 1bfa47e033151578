// SPDX-License-Identifier: Apache-2.0
// What a restart costs jobs of each kind that trained recently: why small gains do not move them, and how sure that is.
import { t } from "@lingui/core/macro";
import { Stack, Table, Text } from "@mantine/core";

import type { Insight } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { costText } from "@/domain/scheduling/cost";

export function RestartCosts({ costs }: { costs: Insight["costs"] }) {
  return (
    <Stack gap="sm">
      <ScrollTable label={t`Costs of a restart`} head={[t`Jobs like`, t`Restart`, t`Stopping`, t`Repeated work`, t`Starting`]}>
        {costs.map(({ job, restart, leave, loss, start }) => (
          <Table.Tr key={job.id}>
            <Table.Td>
              <TextLink to={`/jobs/${job.id}`}>{job.name}</TextLink>
            </Table.Td>
            <Table.Td>{costText(restart)}</Table.Td>
            <Table.Td>{costText(leave)}</Table.Td>
            <Table.Td>{costText(loss)}</Table.Td>
            <Table.Td>{costText(start)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      <Text size="xs" c="dimmed">
        {t`The error covers two of three restarts. With few observations of their own, jobs are taken to be like others.`}
      </Text>
    </Stack>
  );
}
