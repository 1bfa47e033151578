// SPDX-License-Identifier: Apache-2.0
// One version of a model: its state or refusal; if trained, its lineage, metrics and downloads.
import { Alert, Badge, Group, Paper, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { ModelVersion } from "@/api/types";
import { EnvironmentStatus } from "@/components/display/EnvironmentStatus";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { InspectingAlert } from "@/components/feedback/InspectingAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RejectionAlert } from "@/components/feedback/RejectionAlert";
import { DownloadButton } from "@/components/form/DownloadButton";
import { KINDS } from "@/features/models/kinds";
import { metricsOf } from "@/features/models/metrics";
import { versionQuery } from "@/features/models/queries";
import { bytes } from "@/lib/quantities";

const DOWNLOADS: Record<keyof ModelVersion["downloads"], string> = {
  weights: "Weights",
  package: "Package",
  metadata: "Metadata",
};

export function Version({ id }: { id: string }) {
  const version = useQuery(versionQuery(id));
  return <QueryResult of={version}>{(found) => <Found version={found} />}</QueryResult>;
}

function Found({ version }: { version: ModelVersion }) {
  const isTrained = version.source === "training";
  const metrics = metricsOf(version.metrics);
  return (
    <Stack component="section" gap="sm" aria-label={`Version ${version.number}`}>
      <Group gap="xs">
        <Title order={2} size="h4">
          Version {version.number}
        </Title>
        <Badge color={isTrained ? "indigo" : "gray"}>{isTrained ? "Trained" : "Code"}</Badge>
        {!isTrained && <VersionStateBadge state={version.state} />}
      </Group>
      {version.state === "inspecting" && (
        <InspectingAlert title="MLHub is checking the code" queue={version.queue}>
          It imports the code in a sandbox and looks for what training needs.
        </InspectingAlert>
      )}
      {version.error && <RejectionAlert error={version.error} />}
      {hintsOf(version).map((hint) => (
        <Alert key={hint} color="yellow" title="A hyperparameter has the name of a resource">
          {hint}
        </Alert>
      ))}
      <Paper withBorder p="md">
        <Stack gap="md">
          {metrics.length > 0 && <Facts facts={metrics} />}
          <Facts facts={isTrained ? lineageOf(version) : codeOf(version)} />
          {version.environment && <EnvironmentStatus environment={version.environment} />}
          <Downloads version={version} />
        </Stack>
      </Paper>
    </Stack>
  );
}

/** What validation noticed that is no error. */
function hintsOf({ contract: { hints } }: ModelVersion): string[] {
  return Array.isArray(hints) ? hints.map(String) : [];
}

function Downloads({ version }: { version: ModelVersion }) {
  const links = (["weights", "package", "metadata"] as const).flatMap((what) => {
    const address = version.downloads[what];
    return address === null ? [] : [{ what, address }];
  });
  if (links.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label="Downloads">
      {links.map(({ what, address }) => (
        <DownloadButton key={what} href={address}>
          {DOWNLOADS[what]}
        </DownloadButton>
      ))}
    </Group>
  );
}

function lineageOf({ job_id, dataset_version: data, code_version: code, size_bytes, created_at }: ModelVersion): Fact[] {
  return [
    ["Trained by", job_id === null ? "–" : <TextLink key="job" to={`/jobs/${job_id}`}>This job</TextLink>],
    [
      "On the data",
      data === null ? (
        "–"
      ) : (
        <TextLink key="data" to={`/datasets/${data.dataset.id}?version=${data.id}`}>
          {data.dataset.name}, version {data.number}
        </TextLink>
      ),
    ],
    [
      "From the code",
      code === null ? (
        "–"
      ) : (
        <TextLink key="code" to={`/models/${code.model.id}?version=${code.id}`}>
          {code.model.name}, version {code.number}
        </TextLink>
      ),
    ],
    ["Size", bytes(size_bytes)],
    ["Made", <RelativeTime key="made" at={created_at} />],
  ];
}

function codeOf({ kind, entry, size_bytes, created_at }: ModelVersion): Fact[] {
  return [
    ["Kind", KINDS[kind]],
    ["Entry", entry || "–"],
    ["Size", bytes(size_bytes)],
    [kind === "builtin" ? "Since" : "Uploaded", <RelativeTime key="uploaded" at={created_at} />],
  ];
}
