// SPDX-License-Identifier: Apache-2.0
// The files of a version of many: which of them are there, how large they are, and what each was found to be.
import { t } from "@lingui/core/macro";
import { Anchor, Button, Group, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Shard } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ScrollTable } from "@/components/table/ScrollTable";
import { shardsQuery } from "@/features/datasets/queries";
import { bytes, number } from "@/lib/quantities";

const FIRST = 10;

export function ShardTable({ id, isFetching }: { id: string; isFetching: boolean }) {
  const shards = useQuery(shardsQuery(id, isFetching));
  return <QueryResult of={shards}>{(found) => <Shards id={id} shards={found} isKept={!isFetching} />}</QueryResult>;
}

function Shards({ id, shards, isKept }: { id: string; shards: Shard[]; isKept: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const isRefreshed = shards.some(({ found }) => typeof found.is_changed === "boolean");
  const shown = isWhole ? shards : shards.slice(0, FIRST);
  if (shards.length === 0) return <Text size="sm">{t`The folder has not been listed yet.`}</Text>;
  return (
    <>
      <ScrollTable label={t`Shards`} head={[t`Shard`, t`Size`, t`Entity tag`, ...(isRefreshed ? [t`Since the version before`] : [])]} minWidth={520}>
        {shown.map((shard) => (
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
      {shards.length > FIRST && (
        <Group>
          <Button variant="subtle" size="xs" onClick={() => setWhole(!isWhole)}>
            {isWhole ? t`Show fewer` : t`Show all ${number(shards.length)} shards`}
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
