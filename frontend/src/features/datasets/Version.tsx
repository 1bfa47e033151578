// SPDX-License-Identifier: Apache-2.0
// One version of a dataset: its state, why it was refused, what is in it, and a sample.
import { Badge, Group, Paper, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { isRecord } from "@/api/client";
import type { DatasetVersion } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { InspectingAlert } from "@/components/feedback/InspectingAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RejectionAlert } from "@/components/feedback/RejectionAlert";
import { Section } from "@/components/layout/Section";
import { DATASET_FORMATS } from "@/domain/datasetFormat";
import { PreviewView } from "@/features/datasets/PreviewView";
import { asPreview } from "@/features/datasets/preview";
import { versionQuery } from "@/features/datasets/queries";
import { classesOf, schemaFacts } from "@/features/datasets/schema";
import { bytes, number } from "@/lib/quantities";

const MOST_CLASSES = 60;

export function Version({ id }: { id: string }) {
  const version = useQuery(versionQuery(id));
  return <QueryResult of={version}>{(found) => <Found version={found} />}</QueryResult>;
}

function Found({ version }: { version: DatasetVersion }) {
  const preview = asPreview(version.preview);
  return (
    <>
      <Group gap="xs">
        <Title order={2} size="h4">
          Version {version.number}
        </Title>
        <VersionStateBadge state={version.state} />
      </Group>
      {version.state === "inspecting" && (
        <InspectingAlert title="MLHub is reading the file" queue={version.queue}>
          It checks every example, so that a job does not fail on one later.
        </InspectingAlert>
      )}
      {version.error && <RejectionAlert error={version.error} />}
      <Paper withBorder p="md">
        <Facts facts={factsOf(version)} />
      </Paper>
      <Classes version={version} />
      {preview && (
        <Section title="Preview" order={3}>
          <PreviewView preview={preview} />
        </Section>
      )}
    </>
  );
}

function Classes({ version }: { version: DatasetVersion }) {
  const classes = classesOf(version.schema);
  if (classes.length === 0) return null;
  return (
    <Section title="Classes" order={3}>
      <Group component="ul" gap={6} p={0} m={0} style={{ listStyle: "none" }}>
        {classes.slice(0, MOST_CLASSES).map(({ name, n }) => (
          <li key={name}>
            <Badge color="gray">
              {name || "(empty)"}
              {n !== undefined && ` · ${number(n)}`}
            </Badge>
          </li>
        ))}
      </Group>
      {classes.length > MOST_CLASSES && (
        <Text size="sm" c="dimmed">
          and {number(classes.length - MOST_CLASSES)} more.
        </Text>
      )}
    </Section>
  );
}

function factsOf(version: DatasetVersion): Fact[] {
  const target = targetIn(version.schema) ?? targetIn(version.options);
  return [
    ...schemaFacts(version.schema),
    ["Format", DATASET_FORMATS[version.format].label],
    ...(target ? [["Target column", target] satisfies Fact] : []),
    ["Size", bytes(version.size_bytes)],
    ["Files", version.files.map(({ name }) => name).join(", ") || "–"],
    ["Uploaded", <RelativeTime key="uploaded" at={version.created_at} />],
    ["Fingerprint", version.manifest_sha256.slice(0, 12) || "–"],
  ];
}

/** The column that inspection settled on, or the one that was asked for. */
function targetIn(facts: unknown): string | undefined {
  return isRecord(facts) && typeof facts.target === "string" && facts.target !== "" ? facts.target : undefined;
}
