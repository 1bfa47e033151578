// What a restart costs each family that trained last: why small gains do not move its jobs, and how sure that is.
import { Stack, Table, Text } from "@mantine/core";

import type { Insight } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";

export function RestartCosts({ costs }: { costs: Insight["costs"] }) {
  return (
    <Stack gap="sm">
      <ScrollTable label="Costs of a restart" head={["Family of", "Restart", "To leave", "To do again", "To start"]}>
        {costs.map(({ job, restart, leave, loss, start }) => (
          <Table.Tr key={job.id}>
            <Table.Td>
              <TextLink to={`/jobs/${job.id}`}>{job.name}</TextLink>
            </Table.Td>
            <Table.Td>{restart.sentence}</Table.Td>
            <Table.Td>{leave.sentence}</Table.Td>
            <Table.Td>{loss.sentence}</Table.Td>
            <Table.Td>{start.sentence}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      <Text size="xs" c="dimmed">
        Two of three lie within what is given. With few observations of its own, a family is taken to be like others.
      </Text>
    </Stack>
  );
}
