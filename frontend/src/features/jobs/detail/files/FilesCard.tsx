// SPDX-License-Identifier: Apache-2.0
// What a job left: files to download, and the checkpoints that a failed or paused job is resumed from.
import { Anchor, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { JobDetail } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SectionCard } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { artifactsQuery, checkpointsQuery } from "@/features/jobs/queries";
import { bytes } from "@/lib/quantities";

interface Row {
  name: string;
  size_bytes: number;
  at: string;
  href?: string;
}

export function FilesCard({ job }: { job: JobDetail }) {
  const { data: files = [] } = useQuery(artifactsQuery(job));
  const { data: checkpoints = [] } = useQuery(checkpointsQuery(job));
  if (files.length === 0 && checkpoints.length === 0) return null;
  const address = `/api/v1/jobs/${job.id}/artifacts/`;
  return (
    <SectionCard title="Files">
      <Stack gap="md">
        {files.length > 0 && (
          <FileTable
            label="Artifacts"
            rows={files.map((file) => ({ ...file, href: address + file.name.split("/").map(encodeURIComponent).join("/") }))}
          />
        )}
        {checkpoints.length > 0 && <FileTable label="Checkpoints" rows={checkpoints} />}
      </Stack>
    </SectionCard>
  );
}

function FileTable({ label, rows }: { label: string; rows: Row[] }) {
  return (
    <ScrollTable label={label} head={[label, "Size", "Written"]} minWidth={320}>
        {rows.map(({ name, size_bytes, at, href }) => (
          <Table.Tr key={name}>
            <Table.Td>
              {href === undefined ? (
                <Text size="sm">{name}</Text>
              ) : (
                <Anchor href={href} download size="sm">
                  {name}
                </Anchor>
              )}
            </Table.Td>
            <Table.Td>{bytes(size_bytes)}</Table.Td>
            <Table.Td>
              <RelativeTime at={at} />
            </Table.Td>
          </Table.Tr>
        ))}
    </ScrollTable>
  );
}
