// What training gave: its final metrics, and the files to take away.
import { Button, Group, Paper, Title } from "@mantine/core";
import { Link } from "react-router";

import type { Job } from "@/api/types";
import { type Fact, Facts } from "@/components/Facts";
import { Icon } from "@/components/Icon";
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
        <Button component={Link} to={`/models/${model.id}`} variant="subtle" size="xs">
          All versions of {model.name}
        </Button>
      </Group>
      <Facts facts={numbersIn(job.result_metrics).map(([key, value]): Fact => [key, number(value)])} />
      <Group gap="xs" mt="md">
        {files.map(([what, label]) => (
          <Button
            key={what}
            component="a"
            href={`/api/v1/model-versions/${version}/download?what=${what}`}
            download
            variant={what === "weights" ? "filled" : "default"}
            size="xs"
            leftSection={<Icon name="download" size={14} />}
          >
            {label}
          </Button>
        ))}
      </Group>
    </Paper>
  );
}
