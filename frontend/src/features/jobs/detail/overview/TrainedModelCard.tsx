// SPDX-License-Identifier: Apache-2.0
// What training gave: its final metrics, the page on which it is tried out, and the files to take away.
import { t } from "@lingui/core/macro";
import { Group, Paper, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Job } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { DownloadButton } from "@/components/form/DownloadButton";
import { resultQuery } from "@/features/jobs/queries";

import { ResultMetrics } from "./ResultMetrics";

const FILES = [
  ["weights", t`Weights`],
  ["metadata", t`Metadata`],
  ["package", t`Code package`],
] as const;

export function TrainedModelCard({ job, version }: { job: Job; version: string }) {
  const { kind } = job.model_version;
  // what a built-in model was trained to is another model: the project's own
  const model = useQuery(resultQuery(version)).data?.model;
  const files = FILES.filter(([what]) => what !== "package" || kind !== "builtin");
  return (
    <Paper component="section" withBorder p="md" aria-label={t`Result`}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">
          {t`Trained model`}
        </Title>
        {model && (
          <Text size="sm">
            <TextLink to={`/models/${model.id}?version=${version}`}>
              {kind === "script" ? t`Its page at ${model.name}` : t`Try it: ${model.name}`}
            </TextLink>
          </Text>
        )}
      </Group>
      <ResultMetrics job={job} />
      <Group gap="xs" mt="md">
        {files.map(([what, label]) => (
          <DownloadButton
            key={what}
            href={`/api/v1/model-versions/${version}/download?what=${what}`}
            isMain={what === "weights"}
          >
            {label}
          </DownloadButton>
        ))}
      </Group>
    </Paper>
  );
}
