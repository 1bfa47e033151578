// All datasets that one may see, newest first.
import { Anchor, NativeSelect, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import { useProjects } from "@/api/session";
import type { Dataset } from "@/api/types";
import { Empty } from "@/components/Empty";
import { Loading } from "@/components/Loading";
import { Page } from "@/components/Page";
import { Pager } from "@/components/Pager";
import { ProblemAlert } from "@/components/ProblemAlert";
import { ScrollTable } from "@/components/ScrollTable";
import { VersionBadge } from "@/components/VersionBadge";
import { When } from "@/components/When";
import { NewDataset } from "@/features/datasets/NewDataset";
import { datasetsQuery } from "@/features/datasets/queries";
import { summary } from "@/features/datasets/schema";
import { bytes } from "@/lib/quantities";

export function DatasetsPage() {
  const [parameters, setParameters] = useSearchParams();
  const project = parameters.get("project") ?? undefined;
  const cursor = parameters.get("cursor") ?? undefined;
  const datasets = useQuery(datasetsQuery({ project, cursor }));
  const projects = useProjects();

  function show(next: { project?: string | undefined; cursor?: string | undefined }) {
    setParameters(Object.fromEntries(Object.entries(next).filter(([, value]) => value)));
  }

  return (
    <Page title="Datasets" subtitle="What jobs learn from. Each upload is inspected before it can be used." actions={<NewDataset />}>
      {projects.length > 1 && (
        <NativeSelect
          label="Project"
          maw={280}
          value={project ?? ""}
          onChange={(event) => show({ project: event.currentTarget.value })}
          data={[{ value: "", label: "All projects" }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      )}
      <ProblemAlert error={datasets.error} onRetry={() => void datasets.refetch()} />
      {datasets.isPending && <Loading />}
      {datasets.data?.results.length === 0 && (
        <Empty
          title="No datasets yet"
          text="Upload NPZ, CSV, Parquet, text, or a zip of images in one folder for each class."
        />
      )}
      {datasets.data && datasets.data.results.length > 0 && (
        <>
          <ScrollTable
            label="Datasets"
            minWidth={760}
            head={["Name", "State", "What is in it", "Size", "Project", "Uploaded"]}
          >
            {datasets.data.results.map((dataset) => (
              <Row key={dataset.id} dataset={dataset} />
            ))}
          </ScrollTable>
          <Pager page={datasets.data} onCursor={(next) => show({ project, cursor: next })} />
        </>
      )}
    </Page>
  );
}

function Row({ dataset }: { dataset: Dataset }) {
  const version = dataset.latest_version;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={`/datasets/${dataset.id}`} size="sm" fw={500}>
          {dataset.name}
        </Anchor>{" "}
        {version && (
          <Text span size="xs" c="dimmed">
            v{version.number}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{version && <VersionBadge state={version.state} />}</Table.Td>
      <Table.Td maw={280}>{version?.error ? version.error.message : summary(version?.schema)}</Table.Td>
      <Table.Td>{bytes(version?.size_bytes)}</Table.Td>
      <Table.Td>{dataset.project.name}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <When at={version?.created_at ?? dataset.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}
