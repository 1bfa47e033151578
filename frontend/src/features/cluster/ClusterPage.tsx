// SPDX-License-Identifier: Apache-2.0
// The cluster: its map now and at other times, its racks, their nodes, and which job each GPU runs.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { Link } from "react-router";

import { clusterQuery } from "@/api/cluster";
import { isStaff, useMe } from "@/api/session";
import type { Cluster, Rack } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { OvercommittedAlert } from "@/components/display/quota/OvercommittedAlert";
import { RelativeTime } from "@/components/display/RelativeTime";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { FreeGangs } from "@/features/cluster/FreeGangs";
import { InterferenceSection } from "@/features/cluster/InterferenceSection";
import { LinkSection } from "@/features/cluster/LinkSection";
import { ClusterMap } from "@/features/cluster/map/ClusterMap";
import { NodeCard } from "@/features/cluster/NodeCard";
import { NoNodes } from "@/features/cluster/NoNodes";
import { QuarantineSection } from "@/features/cluster/QuarantineSection";
import { SandboxSection } from "@/features/cluster/SandboxSection";
import { type Capacity, capacityOf } from "@/domain/scheduling/capacity";
import { bandwidth } from "@/features/cluster/format";
import { lazyComponent } from "@/lib/chunk";
import { number } from "@/lib/quantities";

const MachineSection = lazyComponent(async () => (await import("./machines/MachineSection")).MachineSection);

export function ClusterPage() {
  const cluster = useQuery(clusterQuery);
  return (
    <Page
      title={t`Cluster`}
      subtitle={t`Which job each GPU runs: now, in the last hours, and as predicted.`}
      actions={
        <Button component={Link} to="/cluster/timeline" variant="default" size="xs">
          {t`Timeline`}
        </Button>
      }
      isWide
    >
      <QueryResult of={cluster}>
        {(found) => <Shown cluster={found} />}
      </QueryResult>
    </Page>
  );
}

function Shown({ cluster }: { cluster: Cluster }) {
  const hasMachines = isStaff(useMe()) && cluster.backend.name === "agents";
  const { totals, racks, backend, quarantined, interference, links, sandbox, ledger_failing_since, overcommitted } = cluster;
  return (
    <>
      <BackendAlert backend={backend} />
      <LedgerAlert since={ledger_failing_since} />
      <OvercommittedAlert found={overcommitted} />
      <Totals capacity={capacityOf({ racks })} totals={totals} />
      {racks.length === 0 && <NoNodes backend={backend.name} />}
      {racks.length > 0 && <ClusterMap cluster={cluster} />}
      {racks.length > 0 && <FreeGangs cluster={cluster} />}
      {racks.map((rack) => (
        <RackSection key={rack.name} rack={rack} />
      ))}
      {hasMachines && (
        <Suspense fallback={<Loading />}>
          <MachineSection cluster={cluster} />
        </Suspense>
      )}
      <LinkSection links={links} />
      <InterferenceSection pairs={interference} />
      <QuarantineSection items={quarantined} />
      <SandboxSection reports={sandbox} />
    </>
  );
}

/** The nodes below it are then as they were observed last. */
function LedgerAlert({ since }: { since: string | null }) {
  if (since === null) return null;
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title={t`The ledger of GPU-hours disagrees with the attempts`}>
      <Text size="sm">
        <Trans>
          Since <RelativeTime at={since} />. Reports, budgets and bills may be wrong by the entries that the event usage.mismatch on the
          page Audit names.
        </Trans>
      </Text>
    </Alert>
  );
}

function BackendAlert({ backend }: { backend: Cluster["backend"] }) {
  if (backend.away_since === null) return null;
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title={t`The cluster cannot be reached`}>
      <Text size="sm">
        <Trans>
          Since <RelativeTime at={backend.away_since} />. Running jobs continue; nothing is started or stopped until it is reachable again.
          {backend.message !== "" && ` ${backend.message}`}
        </Trans>
      </Text>
    </Alert>
  );
}

function Totals({ capacity, totals }: { capacity: Capacity; totals: Cluster["totals"] }) {
  const figures: [string, string][] = [
    [t`GPUs free`, t`${number(capacity.free)} of ${number(capacity.gpus)}`],
    [t`GPUs in use`, number(capacity.inUse)],
    [t`Jobs running`, number(totals.running_jobs)],
    [t`Jobs pending`, number(totals.queued_jobs)],
  ];
  if (capacity.unavailable > 0) figures.splice(2, 0, [t`GPUs unavailable`, number(capacity.unavailable)]);
  return (
    <SimpleGrid component="dl" cols={{ base: 2, sm: figures.length }} spacing="sm" m={0} aria-label={t`Totals`}>
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
    <Stack component="section" gap="xs" aria-label={t`Rack ${rack.name}`}>
      <Group gap="sm" align="baseline">
        <Title order={2} size="h4">
          {rack.name}
        </Title>
        <Text size="sm" c="dimmed">
          {t`${plural(rack.nodes.length, { one: "# node", other: "# nodes" })} · uplink ${bandwidth(rack.uplink_bps)}`}
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
