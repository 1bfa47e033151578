// SPDX-License-Identifier: Apache-2.0
// One version of a dataset: its state, why it was refused, what is in it, and a sample.
import { t } from "@lingui/core/macro";
import { Badge, Group, Paper, Progress, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useRef } from "react";

import { isRecord } from "@/api/client";
import type { DatasetVersion } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { InspectingAlert } from "@/components/feedback/InspectingAlert";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RejectionAlert } from "@/components/feedback/RejectionAlert";
import { DownloadButton } from "@/components/form/DownloadButton";
import { Section } from "@/components/layout/Section";
import { DATASET_FORMATS } from "@/domain/datasetFormat";
import { PreviewView } from "@/features/datasets/PreviewView";
import { asPreview } from "@/features/datasets/preview";
import { asAudioStatistics } from "@/features/datasets/audio/statistics";
import { asTableStatistics } from "@/features/datasets/columns/statistics";
import { versionQuery } from "@/features/datasets/queries";
import { classesOf, type DatasetClass, exampleSeconds, schemaFacts } from "@/features/datasets/schema";
import { lazyComponent } from "@/lib/chunk";
import { csvOf } from "@/lib/download";
import { bytes, number } from "@/lib/quantities";

const MOST_CLASSES = 60;
const MOST_BARS = 20;
const MOST_FILES = 3;

const ColumnsSection = lazyComponent(async () => (await import("./columns/ColumnsSection")).ColumnsSection);

const AudioSection = lazyComponent(async () => (await import("./audio/AudioSection")).AudioSection);

const SourcePanel = lazyComponent(async () => (await import("./source/SourcePanel")).SourcePanel);

interface Props {
  id: string;
  mayChoose: boolean;
  onChosen: (version: DatasetVersion) => void;
}

export function Version({ id, ...rest }: Props) {
  const version = useQuery(versionQuery(id));
  return <QueryResult of={version}>{(found) => <Found version={found} {...rest} />}</QueryResult>;
}

function Found({ version, mayChoose, onChosen }: Omit<Props, "id"> & { version: DatasetVersion }) {
  const preview = asPreview(version.preview);
  const isUnderWay = version.state === "fetching" || version.state === "inspecting";
  const table = isUnderWay ? null : asTableStatistics(version.statistics);
  const audio = isUnderWay ? null : asAudioStatistics(version.statistics);
  const isToPredictOn = isRecord(version.schema) && version.schema.task === "none";
  return (
    <>
      <Group gap="xs">
        <Title order={2} size="h4">
          {t`Version ${version.number}`}
        </Title>
        <VersionStateBadge state={version.state} />
      </Group>
      {version.state === "inspecting" && (
        <InspectingAlert title={t`MLHub is reading the file`} queue={version.queue}>
          {t`It checks every example, so that a job does not fail on one later.`}
        </InspectingAlert>
      )}
      {version.error && version.state === "refused" && (
        <RejectionAlert
          error={version.error}
          title={version.source === null ? t`This upload was refused` : t`What is at this address was refused`}
        />
      )}
      {version.source !== null && (
        <Suspense fallback={<Loading label={t`Loading the source`} />}>
          <SourcePanel version={version} source={version.source} mayRefresh={mayChoose} onRefreshed={onChosen} />
        </Suspense>
      )}
      <Paper withBorder p="md">
        <Facts facts={factsOf(version)} />
        {version.state !== "refused" && version.files.length === 1 && (
          <Group mt="sm">
            <DownloadButton href={`/api/v1/dataset-versions/${version.id}/download`}>
              {t`Download ${version.files[0]?.name ?? t`the file`}`}
            </DownloadButton>
          </Group>
        )}
      </Paper>
      <Classes version={version} />
      {table && (
        <Suspense fallback={<Loading label={t`Loading the columns`} />}>
          <ColumnsSection
            key={`${version.id} ${version.state}`}
            version={version}
            statistics={table}
            mayChoose={mayChoose && !isToPredictOn}
            onChosen={onChosen}
          />
        </Suspense>
      )}
      {audio && (
        <Suspense fallback={<Loading label={t`Loading the clips`} />}>
          <AudioSection statistics={audio} exampleS={exampleSeconds(version.schema)} />
        </Suspense>
      )}
      {preview && (
        <Section title={t`Preview`} order={3}>
          <PreviewView preview={preview} versionId={version.id} />
        </Section>
      )}
    </>
  );
}

function Classes({ version }: { version: DatasetVersion }) {
  const classes = classesOf(version.schema);
  if (classes.length === 0) return null;
  if (classes.length <= MOST_BARS && classes.every(({ n }) => n !== undefined)) {
    return <ClassBalance classes={classes} />;
  }
  return (
    <Section title={t`Classes`} order={3}>
      <Group component="ul" gap={6} p={0} m={0} style={{ listStyle: "none" }}>
        {classes.slice(0, MOST_CLASSES).map(({ name, n }) => (
          <li key={name}>
            <Badge color="gray">
              {name || t`(empty)`}
              {n !== undefined && ` · ${number(n)}`}
            </Badge>
          </li>
        ))}
      </Group>
      {classes.length > MOST_CLASSES && (
        <Text size="sm" c="dimmed">
          {t`and ${number(classes.length - MOST_CLASSES)} more.`}
        </Text>
      )}
    </Section>
  );
}

/** How many examples each class has, relative to the largest one. */
function ClassBalance({ classes }: { classes: DatasetClass[] }) {
  const drawing = useRef<HTMLDivElement>(null);
  const most = Math.max(1, ...classes.map(({ n }) => n ?? 0));
  const csv = () => csvOf([["class", "n"], ...classes.map(({ name, n }) => [name, n])]);
  return (
    <Section title={t`Classes`} order={3} aside={<FigureMenu name={t`Classes`} of={drawing} csv={csv} />}>
      <Stack ref={drawing} component="ul" gap={4} p={0} m={0} maw={520} style={{ listStyle: "none" }}>
        {classes.map(({ name, n = 0 }) => (
          <Group component="li" key={name} gap="sm" wrap="nowrap">
            <Text size="sm" w={140} truncate dir="auto" title={name}>
              {name || t`(empty)`}
            </Text>
            <Progress value={(100 * n) / most} flex={1} aria-hidden />
            <Text size="sm" w={70} ta="end">
              {number(n)}
            </Text>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function factsOf(version: DatasetVersion): Fact[] {
  const target = targetIn(version.schema) ?? targetIn(version.options);
  return [
    ...schemaFacts(version.schema),
    [t`Format`, DATASET_FORMATS[version.format].label],
    ...(target ? [[t`Target column`, target] satisfies Fact] : []),
    [t`Size`, version.files.length > 0 ? bytes(version.size_bytes) : "–"],
    [t`Files`, filesIn(version)],
    [version.source === null ? t`Uploaded` : t`Created`, <RelativeTime key="uploaded" at={version.created_at} />],
    [t`Fingerprint`, version.manifest_sha256.slice(0, 12) || "–"],
  ];
}

function filesIn({ files, n_files }: DatasetVersion): string {
  const names = files.slice(0, MOST_FILES).map(({ name }) => name).join(", ") || "–";
  return n_files > MOST_FILES ? t`${names} and ${number(n_files - MOST_FILES)} more` : names;
}

/** The column that inspection settled on, or the one that was asked for. */
function targetIn(facts: unknown): string | undefined {
  return isRecord(facts) && typeof facts.target === "string" && facts.target !== "" ? facts.target : undefined;
}
