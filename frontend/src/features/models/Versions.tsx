// The versions of a model, to choose one from: those of the code, and those that training made.
import { Anchor, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";

import type { ModelVersion } from "@/api/types";
import { Empty } from "@/components/Empty";
import { Loading } from "@/components/Loading";
import { Pager } from "@/components/Pager";
import { ProblemAlert } from "@/components/ProblemAlert";
import { ScrollTable } from "@/components/ScrollTable";
import { VersionBadge } from "@/components/VersionBadge";
import { When } from "@/components/When";
import { KINDS } from "@/features/models/kinds";
import { metricsLine } from "@/features/models/metrics";
import { type Source, versionsQuery } from "@/features/models/queries";
import { bytes } from "@/lib/quantities";

interface Props {
  modelId: string;
  shownId: string | undefined;
}

export function TrainedVersions(props: Props) {
  return (
    <Listed
      {...props}
      source="training"
      label="Trained versions"
      head={["Version", "Metrics", "Data", "Job", "Size", "Made"]}
      empty={<Empty title="Not trained yet" text="Every job that succeeds adds a version with its weights here." />}
      cells={(version) => [
        metricsLine(version.metrics),
        version.dataset_version
          ? `${version.dataset_version.dataset.name} v${version.dataset_version.number}`
          : "–",
        version.job_id ? (
          <Anchor component={Link} to={`/jobs/${version.job_id}`} size="sm">
            Job
          </Anchor>
        ) : (
          "–"
        ),
        bytes(version.size_bytes),
        <When key="at" at={version.created_at} />,
      ]}
    />
  );
}

export function CodeVersions(props: Props) {
  return (
    <Listed
      {...props}
      source="upload"
      label="Versions of the code"
      head={["Version", "State", "Kind", "Entry", "Size", "Uploaded"]}
      empty={<Empty title="No code yet" />}
      cells={(version) => [
        <VersionBadge key="state" state={version.state} />,
        KINDS[version.kind],
        version.entry,
        bytes(version.size_bytes),
        <When key="at" at={version.created_at} />,
      ]}
    />
  );
}

interface ListedProps extends Props {
  source: Source;
  label: string;
  head: string[];
  empty: ReactNode;
  cells: (version: ModelVersion) => ReactNode[];
}

function Listed({ modelId, shownId, source, label, head, empty, cells }: ListedProps) {
  const [cursor, setCursor] = useState<string>();
  const versions = useQuery(versionsQuery(modelId, source, cursor));
  if (versions.error) return <ProblemAlert error={versions.error} onRetry={() => void versions.refetch()} />;
  if (!versions.data) return <Loading />;
  if (versions.data.results.length === 0) return empty;
  return (
    <>
      <ScrollTable label={label} head={head}>
        {versions.data.results.map((version) => (
          <Table.Tr key={version.id} bg={version.id === shownId ? "var(--mantine-color-default-hover)" : undefined}>
            <Table.Td style={{ whiteSpace: "nowrap" }}>
              <Anchor
                component={Link}
                to={`?version=${version.id}`}
                size="sm"
                aria-current={version.id === shownId ? "true" : undefined}
              >
                Version {version.number}
              </Anchor>
            </Table.Td>
            {cells(version).map((cell, index) => (
              <Table.Td key={index}>{cell}</Table.Td>
            ))}
          </Table.Tr>
        ))}
      </ScrollTable>
      <Pager page={versions.data} onCursor={setCursor} />
    </>
  );
}
