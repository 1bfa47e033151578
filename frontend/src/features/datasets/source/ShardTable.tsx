// SPDX-License-Identifier: Apache-2.0
// The files of a version of many: which of them are there, how large they are, and what each was found to be.
import { t } from "@lingui/core/macro";
import { Anchor, Button, Group, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";

import type { Shard } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ScrollTable } from "@/components/table/ScrollTable";
import { shardsQuery } from "@/features/datasets/queries";
import { bytes, number } from "@/lib/quantities";

export function ShardTable({ id, n, isFetching }: { id: string; n: number; isFetching: boolean }) {
  const shards = useInfiniteQuery(shardsQuery(id));
  const more = shards.hasNextPage ? () => void shards.fetchNextPage() : undefined;
  return (
    <QueryResult of={shards}>
      {({ pages }) => <Shards id={id} shards={pages.flatMap((page) => page.results)} n={n} isKept={!isFetching} onMore={more} />}
    </QueryResult>
  );
}

interface Props {
  id: string;
  shards: Shard[];
  /** How many there are. */
  n: number;
  isKept: boolean;
  onMore: (() => void) | undefined;
}

function Shards({ id, shards, n, isKept, onMore }: Props) {
  const isRefreshed = shards.some(({ found }) => typeof found.is_changed === "boolean");
  if (shards.length === 0) return <Text size="sm">{t`The folder has not been listed yet.`}</Text>;
  return (
    <>
      <ScrollTable label={t`Shards`} head={[t`Shard`, t`Size`, t`Entity tag`, ...(isRefreshed ? [t`Since the version before`] : [])]} minWidth={520}>
        {shards.map((shard) => (
          <Table.Tr key={shard.name}>
            <Table.Th scope="row" title={shard.uri} style={{ overflowWrap: "anywhere" }}>
              {isKept && shard.stored !== "" ? (
                <Anchor inherit href={`/api/v1/dataset-versions/${id}/download?file=${encodeURIComponent(shard.name)}`} download>
                  {shard.name}
                </Anchor>
              ) : (
                shard.name
              )}
            </Table.Th>
            <Table.Td>{shard.size_bytes === null ? t`not fetched yet` : bytes(shard.size_bytes)}</Table.Td>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{shard.found.etag || shard.etag || "–"}</Table.Td>
            {isRefreshed && <Table.Td>{changeOf(shard)}</Table.Td>}
          </Table.Tr>
        ))}
      </ScrollTable>
      {onMore && (
        <Group>
          <Text size="xs" c="dimmed">{t`${number(shards.length)} of ${number(n)}`}</Text>
          <Button variant="subtle" size="xs" onClick={onMore}>
            {t`Show more`}
          </Button>
        </Group>
      )}
    </>
  );
}

function changeOf({ found }: Shard): string {
  if (found.is_changed === null || found.is_changed === undefined) return "–";
  return found.is_changed ? t`changed` : t`the same`;
}
