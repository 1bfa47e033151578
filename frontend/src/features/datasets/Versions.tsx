// The versions of a dataset, to choose one from.
import { Anchor, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { Loading } from "@/components/Loading";
import { Pager } from "@/components/Pager";
import { ProblemAlert } from "@/components/ProblemAlert";
import { ScrollTable } from "@/components/ScrollTable";
import { VersionBadge } from "@/components/VersionBadge";
import { When } from "@/components/When";
import { FORMATS } from "@/features/datasets/formats";
import { versionsQuery } from "@/features/datasets/queries";
import { summary } from "@/features/datasets/schema";
import { bytes } from "@/lib/quantities";

export function Versions({ datasetId, shownId }: { datasetId: string; shownId: string | undefined }) {
  const [cursor, setCursor] = useState<string>();
  const versions = useQuery(versionsQuery(datasetId, cursor));
  if (versions.error) return <ProblemAlert error={versions.error} onRetry={() => void versions.refetch()} />;
  if (!versions.data) return <Loading />;
  return (
    <>
      <ScrollTable label="Versions" head={["Version", "State", "Format", "What is in it", "Size", "Uploaded"]}>
        {versions.data.results.map((version) => (
          <Table.Tr key={version.id} bg={version.id === shownId ? "var(--mantine-color-default-hover)" : undefined}>
            <Table.Td>
              <Anchor
                component={Link}
                to={`?version=${version.id}`}
                size="sm"
                aria-current={version.id === shownId ? "true" : undefined}
              >
                Version {version.number}
              </Anchor>
            </Table.Td>
            <Table.Td>
              <VersionBadge state={version.state} />
            </Table.Td>
            <Table.Td>{FORMATS[version.format]}</Table.Td>
            <Table.Td>{summary(version.schema)}</Table.Td>
            <Table.Td>{bytes(version.size_bytes)}</Table.Td>
            <Table.Td>
              <When at={version.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      <Pager page={versions.data} onCursor={setCursor} />
    </>
  );
}
