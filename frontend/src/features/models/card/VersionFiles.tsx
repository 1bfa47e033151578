// SPDX-License-Identifier: Apache-2.0
// The files of a version that a client of MLflow registered, to take away.
import { t } from "@lingui/core/macro";
import { Anchor, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { QueryResult } from "@/components/feedback/QueryResult";
import { ScrollTable } from "@/components/table/ScrollTable";
import { versionFilesQuery } from "@/features/models/queries";
import { bytes } from "@/lib/quantities";

export function VersionFiles({ id }: { id: string }) {
  const files = useQuery(versionFilesQuery(id));
  return (
    <QueryResult of={files}>
      {(found) => (
        <ScrollTable label={t`Files`} head={[t`File`, t`Size`]} minWidth={320}>
          {found.map(({ path, size_bytes }) => (
            <Table.Tr key={path}>
              <Table.Td style={{ overflowWrap: "anywhere" }}>
                <Anchor href={`/api/v1/model-versions/${id}/files/${path.split("/").map(encodeURIComponent).join("/")}`} download>
                  {path}
                </Anchor>
              </Table.Td>
              <Table.Td>{bytes(size_bytes)}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
    </QueryResult>
  );
}
