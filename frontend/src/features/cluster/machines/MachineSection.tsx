// SPDX-License-Identifier: Apache-2.0
// For administrators of a platform without Kubernetes: the machines with an agent, those that are away, too.
import { t } from "@lingui/core/macro";
import { Group, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Agent, Cluster, Node } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { AGENT_STATES } from "@/domain/states/agentState";
import { JobsOnNode } from "@/features/cluster/JobsOnNode";
import { AddMachine } from "@/features/cluster/machines/AddMachine";
import { NewAgentToken } from "@/features/cluster/machines/NewAgentToken";
import { agentsQuery, removeAgent, useReread } from "@/features/cluster/machines/queries";

export function MachineSection({ cluster }: { cluster: Cluster }) {
  const agents = useQuery(agentsQuery);
  const nodes = new Map(cluster.racks.flatMap((rack) => rack.nodes).map((node) => [node.name, node]));
  return (
    <Section title={t`Machines`}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" c="dimmed">
          {t`Each machine runs the agent of MLHub, which connects to this platform.`}
        </Text>
        <AddMachine />
      </Group>
      <QueryResult of={agents}>
        {({ results, takeover_s, ends_within_s }) =>
          results.length > 0 && (
            <ScrollTable label={t`Machines`} head={[t`Machine`, t`State`, t`Last report`, t`Address`, t`Version`, ""]} minWidth={800}>
              {results.map((agent) => (
                <Row key={agent.name} agent={agent} node={nodes.get(agent.name)} takeoverS={takeover_s} endsWithinS={ends_within_s} />
              ))}
            </ScrollTable>
          )
        }
      </QueryResult>
    </Section>
  );
}

interface RowProps {
  agent: Agent;
  node: Node | undefined;
  takeoverS: number;
  endsWithinS: number;
}

function Row({ agent, node, takeoverS, endsWithinS }: RowProps) {
  const { name, state, problem, seen_at, is_own } = agent;
  const { meaning, ...badge } = AGENT_STATES[state];
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        {name}
        {is_own && (
          <Text size="xs" c="dimmed">
            {t`The platform's own machine`}
          </Text>
        )}
      </Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <StateBadge {...badge} />
        {meaning && <Text size="xs">{state === "closed" ? problem : meaning}</Text>}
      </Table.Td>
      <Table.Td>{seen_at === null ? t`Never` : <RelativeTime at={seen_at} />}</Table.Td>
      <Table.Td>{agent.address || "–"}</Table.Td>
      <Table.Td>{agent.version || "–"}</Table.Td>
      <Table.Td>
        {!is_own && (
          <Group gap="xs" justify="flex-end">
            <NewAgentToken name={name} takeoverS={takeoverS} />
            <RemoveMachine name={name} node={node} endsWithinS={endsWithinS} />
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function RemoveMachine({ name, node, endsWithinS }: { name: string; node: Node | undefined; endsWithinS: number }) {
  const seconds = Math.round(endsWithinS);
  const reread = useReread();
  return (
    <ConfirmButton
      label={t`Remove`}
      ariaLabel={t`Remove ${name}`}
      title={t`Remove ${name}?`}
      text={
        <Stack gap="xs">
          <Text size="sm">
            {t`Its token is refused and its node leaves the cluster. What runs there counts as lost, and begins again elsewhere from its last checkpoint; drain the node first to have jobs save one.`}
          </Text>
          <Text size="sm">
            {t`On the machine itself it runs on for up to ${seconds} s; the platform takes nothing from it any more.`}
          </Text>
          <Text size="sm">
            {t`The agent's folder stays on the machine, with cached data of jobs: end the agent there, and remove /var/lib/mlhub-agent, ~/.mlhub-agent, or what its --home names.`}
          </Text>
          {node !== undefined && <JobsOnNode node={node} />}
        </Stack>
      }
      action={async () => {
        await removeAgent(name);
        await reread();
      }}
    />
  );
}
