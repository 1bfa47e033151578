// The machines as they are now: racks, their nodes, and who is on each GPU.
import { Alert, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Cluster, Rack } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { NodeCard } from "@/features/cluster/NodeCard";
import { clusterQuery } from "@/features/cluster/queries";
import { bandwidth } from "@/features/cluster/words";
import { count, number } from "@/lib/quantities";

export function ClusterPage() {
  const cluster = useQuery(clusterQuery);
  return (
    <Page title="Cluster" subtitle="The machines as they are now, and who is on each GPU.">
      <QueryResult of={cluster}>
        {({ totals, racks, backend }) => (
          <>
            <Away backend={backend} />
            <Totals totals={totals} />
            {racks.length === 0 && (
              <EmptyState title="No machines yet" text="As soon as a node joins the cluster it appears here." />
            )}
            {racks.map((rack) => (
              <RackSection key={rack.name} rack={rack} />
            ))}
          </>
        )}
      </QueryResult>
    </Page>
  );
}

/** Whatever is shown below is then as it was seen last. */
function Away({ backend }: { backend: Cluster["backend"] }) {
  if (backend.away_since === null) return null;
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title="The machines cannot be reached">
      <Text size="sm">
        Since <RelativeTime at={backend.away_since} />. What runs goes on; nothing is started or stopped until they are back.
        {backend.message !== "" && ` ${backend.message}`}
      </Text>
    </Alert>
  );
}

function Totals({ totals }: { totals: Cluster["totals"] }) {
  const figures: [string, string][] = [
    ["GPUs free", `${number(totals.free_gpus)} of ${number(totals.gpus)}`],
    ["GPUs in use", number(totals.gpus - totals.free_gpus)],
    ["Jobs running", number(totals.running_jobs)],
    ["Jobs waiting", number(totals.queued_jobs)],
  ];
  return (
    <SimpleGrid component="dl" cols={{ base: 2, sm: 4 }} spacing="sm" m={0} aria-label="Totals">
      {figures.map(([name, value]) => (
        <Paper key={name} withBorder p="sm">
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="xl" fw={600}>
            {value}
          </Text>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function RackSection({ rack }: { rack: Rack }) {
  return (
    <Stack component="section" gap="xs" aria-label={`Rack ${rack.name}`}>
      <Group gap="sm" align="baseline">
        <Title order={2} size="h4">
          {rack.name}
        </Title>
        <Text size="sm" c="dimmed">
          {count(rack.nodes.length, "node")} · uplink {bandwidth(rack.uplink_bps)}
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
        {rack.nodes.map((node) => (
          <NodeCard key={node.name} node={node} />
        ))}
      </SimpleGrid>
    </Stack>
  );
}
