// SPDX-License-Identifier: Apache-2.0
// What a job left: files to download.
import { Anchor, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { JobDetail } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SectionCard } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { artifactsQuery } from "@/features/jobs/queries";
import { bytes } from "@/lib/quantities";

export function FilesCard({ job }: { job: JobDetail }) {
  const { data: files = [] } = useQuery(artifactsQuery(job));
  if (files.length === 0) return null;
  const address = `/api/v1/jobs/${job.id}/artifacts/`;
  return (
    <SectionCard title="Files">
      <ScrollTable label="Artifacts" head={["Artifact", "Size", "Written"]} minWidth={320}>
        {files.map(({ name, size_bytes, at }) => (
          <Table.Tr key={name}>
            <Table.Td>
              <Anchor href={address + name.split("/").map(encodeURIComponent).join("/")} download size="sm">
                {name}
              </Anchor>
            </Table.Td>
            <Table.Td>{bytes(size_bytes)}</Table.Td>
            <Table.Td>
              <RelativeTime at={at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </SectionCard>
  );
}
