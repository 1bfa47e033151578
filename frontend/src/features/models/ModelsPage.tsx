// All models that one may see, built-in ones marked, newest first.
import { Anchor, Badge, Group, NativeSelect, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import { useProjects } from "@/api/session";
import type { Model } from "@/api/types";
import { Empty } from "@/components/Empty";
import { Loading } from "@/components/Loading";
import { Page } from "@/components/Page";
import { Pager } from "@/components/Pager";
import { ProblemAlert } from "@/components/ProblemAlert";
import { ScrollTable } from "@/components/ScrollTable";
import { VersionBadge } from "@/components/VersionBadge";
import { When } from "@/components/When";
import { KINDS } from "@/features/models/kinds";
import { NewModel } from "@/features/models/NewModel";
import { modelsQuery } from "@/features/models/queries";
import { number } from "@/lib/quantities";

export function ModelsPage() {
  const [parameters, setParameters] = useSearchParams();
  const project = parameters.get("project") ?? undefined;
  const cursor = parameters.get("cursor") ?? undefined;
  const models = useQuery(modelsQuery({ project, cursor }));
  const projects = useProjects();

  function show(next: { project?: string | undefined; cursor?: string | undefined }) {
    setParameters(Object.fromEntries(Object.entries(next).filter(([, value]) => value)));
  }

  return (
    <Page title="Models" subtitle="The code that jobs train, and what training made of it." actions={<NewModel />}>
      {projects.length > 1 && (
        <NativeSelect
          label="Project"
          maw={280}
          value={project ?? ""}
          onChange={(event) => show({ project: event.currentTarget.value })}
          data={[{ value: "", label: "All projects" }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      )}
      <ProblemAlert error={models.error} onRetry={() => void models.refetch()} />
      {models.isPending && <Loading />}
      {models.data?.results.length === 0 && (
        <Empty title="No models yet" text="Upload a zip of a Python package, or a single Python file." />
      )}
      {models.data && models.data.results.length > 0 && (
        <>
          <ScrollTable
            label="Models"
            minWidth={720}
            head={["Name", "State", "Kind", "Trained versions", "Project", "Uploaded"]}
          >
            {models.data.results.map((model) => (
              <Row key={model.id} model={model} />
            ))}
          </ScrollTable>
          <Pager page={models.data} onCursor={(next) => show({ project, cursor: next })} />
        </>
      )}
    </Page>
  );
}

function Row({ model }: { model: Model }) {
  const version = model.latest_version;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs">
          <Anchor component={Link} to={`/models/${model.id}`} size="sm" fw={500}>
            {model.name}
          </Anchor>
          {model.project === null ? (
            <Badge color="grape">Built-in</Badge>
          ) : (
            version && (
              <Text span size="xs" c="dimmed">
                v{version.number}
              </Text>
            )
          )}
        </Group>
      </Table.Td>
      <Table.Td>{version && <VersionBadge state={version.state} />}</Table.Td>
      <Table.Td>{version ? KINDS[version.kind] : "–"}</Table.Td>
      <Table.Td>{number(model.n_trained)}</Table.Td>
      <Table.Td>{model.project?.name ?? "Everyone's"}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <When at={version?.created_at ?? model.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}
