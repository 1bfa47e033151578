// SPDX-License-Identifier: Apache-2.0
// What a job that asked a trained model gave: a file of answers, or metrics.
import { t } from "@lingui/core/macro";
import { Group, Paper, Text, Title } from "@mantine/core";

import type { JobDetail } from "@/api/types";
import { DownloadButton } from "@/components/form/DownloadButton";
import { bytes } from "@/lib/quantities";

import { ResultMetrics } from "./ResultMetrics";

export function PredictionResultCard({ job }: { job: JobDetail }) {
  const file = job.result_file;
  return (
    <Paper component="section" withBorder p="md" aria-label={t`Result`}>
      <Title order={2} size="h5" mb="sm">
        {job.kind === "evaluate" ? t`Evaluation` : t`Predictions`}
      </Title>
      <ResultMetrics job={job} />
      {file !== null && (
        <Group gap="sm">
          <DownloadButton href={`/api/v1/jobs/${job.id}/result`} isMain>
            {t`Download`}
          </DownloadButton>
          <Text size="sm" c="dimmed">
            {t`${file.name}, ${bytes(file.size_bytes)}; rows in the order of the dataset`}
          </Text>
        </Group>
      )}
    </Paper>
  );
}
