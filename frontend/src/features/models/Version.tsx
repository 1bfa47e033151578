// SPDX-License-Identifier: Apache-2.0
// One version of a model: its state or refusal; if trained, its lineage, metrics and downloads.
import { t } from "@lingui/core/macro";
import { Alert, Badge, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";

import type { ModelVersion, ModelVersionDetail } from "@/api/types";
import { EnvironmentStatus } from "@/components/display/environment/EnvironmentStatus";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { InspectingAlert } from "@/components/feedback/InspectingAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RejectionAlert } from "@/components/feedback/RejectionAlert";
import { DownloadButton } from "@/components/form/DownloadButton";
import { remedyOnPage } from "@/domain/remedies";
import { KINDS } from "@/features/models/kinds";
import { metricsOf } from "@/features/models/metrics";
import { versionQuery } from "@/features/models/queries";
import { lazyComponent } from "@/lib/chunk";
import { bytes } from "@/lib/quantities";

const Aliases = lazyComponent(async () => (await import("@/features/models/Aliases")).Aliases);
const LineageSection = lazyComponent(async () => (await import("@/features/models/lineage/LineageSection")).LineageSection);
const NotesSection = lazyComponent(async () => (await import("@/features/models/card/NotesSection")).NotesSection);
const VersionFiles = lazyComponent(async () => (await import("@/features/models/card/VersionFiles")).VersionFiles);
const TrainingFacts = lazyComponent(async () => (await import("@/features/models/card/TrainingFacts")).TrainingFacts);
const TryIt = lazyComponent(async () => (await import("@/features/models/tryit/TryIt")).TryIt);

const DOWNLOADS: Record<keyof ModelVersion["downloads"], string> = {
  weights: t`Weights`,
  package: t`Package`,
  metadata: t`Metadata`,
  export: t`Folder that predicts`,
};

interface Props {
  id: string;
  /** Whether this person may change what is written on it. */
  isMine: boolean;
  /** Whether this person may have it predict rows. */
  mayTry: boolean;
}

export function Version({ id, isMine, mayTry }: Props) {
  const version = useQuery(versionQuery(id));
  return <QueryResult of={version}>{(found) => <Found version={found} isMine={isMine} mayTry={mayTry} />}</QueryResult>;
}

function Found({ version, isMine, mayTry }: Omit<Props, "id"> & { version: ModelVersionDetail }) {
  const trainedOn = version.dataset_version;
  const isTrained = version.source === "training";
  const isLogged = version.source === "logged";
  const metrics = metricsOf(version.metrics);
  return (
    <Stack component="section" gap="sm" aria-label={t`Version ${version.number}`}>
      <Group gap="xs">
        <Title order={2} size="h4">
          {t`Version ${version.number}`}
        </Title>
        <Badge color={isTrained || isLogged ? "indigo" : "gray"}>{isLogged ? t`Registered` : isTrained ? t`Trained` : t`Code`}</Badge>
        {!isTrained && !isLogged && <VersionStateBadge state={version.state} />}
        {version.aliases.map((alias) => (
          <Badge key={alias} color="teal" tt="none">
            @{alias}
          </Badge>
        ))}
      </Group>
      {version.state === "inspecting" && (
        <InspectingAlert title={t`MLHub is checking the code`} queue={version.queue}>
          {t`It imports the code in a sandbox and looks for what training needs.`}
        </InspectingAlert>
      )}
      {version.error && <RejectionAlert error={version.error} />}
      {hintsOf(version).map((hint) => (
        <Alert key={hint} color="yellow" title={t`The check of the code noticed`}>
          {hint}
        </Alert>
      ))}
      <Paper withBorder p="md">
        <Stack gap="md">
          {metrics.length > 0 && <Facts facts={metrics} />}
          <Facts facts={isLogged ? originOf(version) : isTrained ? lineageOf(version) : codeOf(version)} />
          {isTrained && (
            <Suspense fallback={null}>
              <TrainingFacts metadata={version.metadata} />
            </Suspense>
          )}
          {version.environment && (
            <>
              <EnvironmentStatus environment={version.environment} />
              <TextLink to={`/environments?environment=${version.environment.id}`}>{t`All environments`}</TextLink>
            </>
          )}
          <Downloads version={version} />
          {version.not_exportable && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
              {t`No folder that predicts elsewhere: ${version.not_exportable.message}`} {remedyOnPage(version.not_exportable.remedy)}
            </Text>
          )}
          {isLogged && (
            <Suspense fallback={null}>
              <VersionFiles id={version.id} />
            </Suspense>
          )}
        </Stack>
      </Paper>
      {mayTry && version.downloads.export !== null && trainedOn !== null && (
        <Suspense fallback={null}>
          <TryIt key={version.id} version={version} datasetVersion={trainedOn.id} />
        </Suspense>
      )}
      <Suspense fallback={null}>
        <NotesSection key={version.id} version={version} isMine={isMine} />
      </Suspense>
      {version.state === "ready" && (
        <Suspense fallback={null}>
          <LineageSection key={version.id} version={version} />
        </Suspense>
      )}
      {isMine && version.state === "ready" && (
        <Suspense fallback={null}>
          <Aliases key={version.id} version={version} />
        </Suspense>
      )}
    </Stack>
  );
}

/** What validation noticed that is no error. */
function hintsOf({ contract: { hints } }: ModelVersion): string[] {
  return Array.isArray(hints) ? hints.map(String) : [];
}

function Downloads({ version }: { version: ModelVersionDetail }) {
  const links = (["export", "weights", "package", "metadata"] as const).flatMap((what) => {
    const address = version.downloads[what];
    return address === null || (what === "export" && version.not_exportable) ? [] : [{ what, address }];
  });
  if (links.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label={t`Downloads`}>
      {links.map(({ what, address }) => (
        <DownloadButton key={what} href={address} isMain={what === "export"}>
          {DOWNLOADS[what]}
        </DownloadButton>
      ))}
    </Group>
  );
}

function lineageOf({ job_id, dataset_version: data, trained_on_name: dataName, code_version: code, size_bytes, created_at }: ModelVersion): Fact[] {
  return [
    [t`Trained by`, job_id === null ? "–" : <TextLink key="job" to={`/jobs/${job_id}`}>{t`This job`}</TextLink>],
    [
      t`On the data`,
      data === null ? (
        <span key="data" dir="auto">
          {dataName ? t`${dataName}, deleted` : "–"}
        </span>
      ) : (
        <TextLink key="data" to={`/datasets/${data.dataset.id}?version=${data.id}`}>
          {t`${data.dataset.name}, version ${data.number}`}
        </TextLink>
      ),
    ],
    [
      t`From the code`,
      code === null ? (
        "–"
      ) : (
        <TextLink key="code" to={`/models/${code.model.id}?version=${code.id}`}>
          {t`${code.model.name}, version ${code.number}`}
        </TextLink>
      ),
    ],
    [t`Size`, bytes(size_bytes)],
    [t`Made`, <RelativeTime key="made" at={created_at} />],
  ];
}

/** Of what a client of MLflow registered: the run, or the job, that it was logged in. */
function originOf({ kind, metadata, size_bytes, created_at }: ModelVersion): Fact[] {
  const origin = (metadata.mlflow ?? {}) as Record<string, string | undefined>;
  const { run_id: run, job_id: job } = origin;
  const from =
    job !== undefined ? (
      <TextLink key="from" to={`/jobs/${job}`}>{t`This job`}</TextLink>
    ) : run !== undefined ? (
      <TextLink key="from" to={`/runs/${run}`}>{t`This run`}</TextLink>
    ) : (
      "–"
    );
  return [
    [t`Kind`, KINDS[kind]],
    [t`Logged in`, from],
    [t`Source`, origin.source ?? "–"],
    [t`Size`, bytes(size_bytes)],
    [t`Registered`, <RelativeTime key="registered" at={created_at} />],
  ];
}

function codeOf({ kind, entry, image, size_bytes, created_at }: ModelVersion): Fact[] {
  return [
    [t`Kind`, KINDS[kind]],
    [t`Entry`, entry || "–"],
    ...(image === "" ? [] : [[t`Container image`, image] satisfies Fact]),
    [t`Size`, bytes(size_bytes)],
    [kind === "builtin" ? t`Since` : t`Uploaded`, <RelativeTime key="uploaded" at={created_at} />],
  ];
}
