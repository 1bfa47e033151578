// SPDX-License-Identifier: Apache-2.0
// Which jobs slow which, by what they share, by how much, and on how much that rests.
import { t } from "@lingui/core/macro";
import { Stack, Table, Text, Title } from "@mantine/core";

import type { Cluster } from "@/api/types";
import { ScrollTable } from "@/components/table/ScrollTable";
import { evidence, SHARED_RESOURCES, slowdownText } from "@/domain/scheduling/sharedResource";

type Pair = Cluster["interference"][number];

export function InterferenceSection({ pairs }: { pairs: Pair[] }) {
  if (pairs.length === 0) return null;
  return (
    <Stack component="section" gap="xs" aria-label={t`Interference`}>
      <Title order={2} size="h4">
        {t`Interference`}
      </Title>
      <Text size="sm" c="dimmed">
        {t`How long a step takes with another job on the same hardware, compared with a step without it, as pods measured it.`}
      </Text>
      <ScrollTable label={t`Interference`} head={[t`Job`, t`With`, t`They share`, t`A step takes`, t`Measured`]} minWidth={800}>
        {pairs.map((pair) => (
          <Table.Tr key={`${pair.job} ${pair.other} ${pair.resource} ${pair.gpu_type}`}>
            <Table.Td>{pair.job}</Table.Td>
            <Table.Td>{pair.other || t`a job of another organisation`}</Table.Td>
            <Table.Td>
              {SHARED_RESOURCES[pair.resource]} ({pair.gpu_type})
            </Table.Td>
            <Table.Td>{slowdownText(pair.slowdown, pair.error)}</Table.Td>
            <Table.Td>{evidence(pair.n_steps, pair.n)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </Stack>
  );
}
