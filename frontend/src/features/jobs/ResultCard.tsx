// What training gave: its final metrics, and the files to take away.
import { Group, Paper, Text, Title } from "@mantine/core";

import type { Job } from "@/api/types";
import { DownloadButton } from "@/components/DownloadButton";
import { type Fact, Facts } from "@/components/Facts";
import { To } from "@/components/To";
import { number } from "@/lib/quantities";

import { numbersIn } from "./words";

const FILES = [
  ["weights", "Weights"],
  ["metadata", "Metadata"],
  ["package", "Code package"],
] as const;

export function ResultCard({ job, version }: { job: Job; version: string }) {
  const { model, kind } = job.model_version;
  const files = FILES.filter(([what]) => what !== "package" || kind !== "builtin");
  return (
    <Paper component="section" withBorder p="md" aria-label="Result">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">
          Trained model
        </Title>
        <Text size="sm">
          <To to={`/models/${model.id}`}>All versions of {model.name}</To>
        </Text>
      </Group>
      <Facts facts={numbersIn(job.result_metrics).map(([key, value]): Fact => [key, number(value)])} />
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
