// SPDX-License-Identifier: Apache-2.0
// On which nodes a version of a dataset is cached, and how much of what its jobs needed was found there.
import { plural, t } from "@lingui/core/macro";
import { Progress, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import type { DatasetCaches } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { RelativeTime } from "@/components/display/RelativeTime";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { cachesQuery } from "@/features/datasets/queries";
import { csvOf } from "@/lib/download";
import { bytes, number, percent } from "@/lib/quantities";

export function Caches({ version }: { version: string }) {
  const caches = useQuery(cachesQuery(version));
  const nodes = caches.data?.nodes ?? [];
  const drawing = useRef<HTMLDivElement>(null);
  return (
    <Section title={t`Caches`} aside={nodes.length > 0 && <FigureMenu name={t`Caches`} of={drawing} csv={() => csvOfNodes(nodes)} />}>
      <QueryResult of={caches} label={t`Loading the caches`}>
        {(found) => (
          <Stack gap="xs">
            <Text size="sm">{whereItIs(found)}</Text>
            {found.n_starts > 0 && <Text size="sm">{hitRate(found)}</Text>}
            {found.nodes.length > 0 && (
              <div ref={drawing}>
                <Nodes of={found} />
              </div>
            )}
            {found.n_nodes > found.nodes.length && (
              <Text size="sm" c="dimmed">{t`${number(found.n_nodes)} nodes hold some of it; those with most of it are listed.`}</Text>
            )}
          </Stack>
        )}
      </QueryResult>
    </Section>
  );
}

function Nodes({ of }: { of: DatasetCaches }) {
  return (
    <ScrollTable label={t`Nodes that hold this version`} head={[t`Node`, t`Held`, t`Last used`]} minWidth={340}>
      {of.nodes.map(({ name, cached_bytes, used_at }) => {
        const share = of.size_bytes > 0 ? Math.min(1, cached_bytes / of.size_bytes) : 1;
        return (
          <Table.Tr key={name}>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{name}</Table.Td>
            <Table.Td style={{ whiteSpace: "nowrap" }}>
              {bytes(cached_bytes)} ({percent(share)})
              <Progress value={share * 100} size="xs" aria-hidden />
            </Table.Td>
            <Table.Td style={{ whiteSpace: "nowrap" }}>
              <RelativeTime at={used_at} />
            </Table.Td>
          </Table.Tr>
        );
      })}
    </ScrollTable>
  );
}

function csvOfNodes(nodes: DatasetCaches["nodes"]): string {
  return csvOf([["node", "cached_bytes", "used_at"], ...nodes.map(({ name, cached_bytes, used_at }) => [name, cached_bytes, used_at])]);
}

function whereItIs({ has_node_caches, nodes }: DatasetCaches): string {
  if (!has_node_caches) return t`Nodes have no caches of their own: jobs find the data alike on every node.`;
  if (nodes.length === 0) return t`No node is known to hold it: the next job fetches it.`;
  return t`Jobs that read it start sooner on these nodes, and are placed there where nothing else speaks against it.`;
}

function hitRate({ n_starts, inputs_bytes, found_bytes }: DatasetCaches): string {
  const rate = percent(inputs_bytes > 0 ? found_bytes / inputs_bytes : 1);
  const needed = bytes(inputs_bytes);
  return plural(n_starts, {
    one: `Hit rate: ${rate} of the ${needed} that # start needed, code included, was in the cache of its node.`,
    other: `Hit rate: ${rate} of the ${needed} that # starts needed, code included, was in the caches of their nodes.`,
  });
}
