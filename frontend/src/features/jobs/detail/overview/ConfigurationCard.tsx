// SPDX-License-Identifier: Apache-2.0
// What a job was submitted with.
import { Text } from "@mantine/core";

import type { JobDetail } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { TextLink } from "@/components/display/TextLink";
import { SectionCard } from "@/components/layout/Section";
import { modeLabel } from "@/domain/mode";
import { podSettingFacts } from "@/domain/pods/podSetting";
import { factsOf, fallsWhenBetter, parameterList } from "@/features/jobs/format";
import { number } from "@/lib/quantities";

export function ConfigurationCard({ job }: { job: JobDetail }) {
  const { dataset_version: data, model_version: model } = job;
  const facts: Fact[] = [
    [
      "Dataset",
      data === null ? (
        "No dataset"
      ) : (
        <TextLink key="d" to={`/datasets/${data.dataset.id}`}>{`${data.dataset.name} v${data.number}`}</TextLink>
      ),
    ],
    ...job.datasets.map(({ name, dataset, version, number: n }): Fact => [
      `Dataset ${name}`,
      <TextLink key={name} to={`/datasets/${dataset.id}?version=${version}`}>{`${dataset.name} v${n}`}</TextLink>,
    ]),
    ...(job.kind === "notebook"
      ? [["Kind", "Notebook"] satisfies Fact]
      : [
          ["Model", <TextLink key="m" to={`/models/${model.model.id}`}>{`${model.model.name} v${model.number}`}</TextLink>] satisfies Fact,
          ...(job.kind === "train" ? trainingFacts(job) : predictionFacts(job)),
          ["Workers allowed", `${job.min_workers} to ${job.max_workers}`] satisfies Fact,
        ]),
    ["Priority", String(job.priority)],
    ...podSettingFacts(job),
  ];
  if (job.target_metric !== "") {
    const sign = fallsWhenBetter(job.target_metric) ? "≤" : "≥";
    const value = job.target_value === null ? "" : ` ${sign} ${number(job.target_value)}`;
    facts.push(["Target", `${job.target_metric}${value}`]);
  }
  if (factsOf(job.strategy).length > 0) {
    facts.push(["Strategy", parameterList(job.strategy)]);
  }
  if (factsOf(job.hyperparameters).length > 0) {
    facts.push(["Hyperparameters", parameterList(job.hyperparameters)]);
  }
  const variables = Object.entries(job.environment).map(([name, value]) => `${name}=${value}`);
  if (variables.length > 0) facts.push(["Environment variables", variables.join(", ")]);
  if (job.secrets.length > 0) facts.push(["Secrets", job.secrets.join(", ")]);
  return (
    <SectionCard title="Configuration">
      <Facts facts={facts} cols={2} />
      {job.hints.map((hint) => (
        <Text key={hint} size="sm" c="dimmed" role="note">
          {hint}
        </Text>
      ))}
    </SectionCard>
  );
}

function trainingFacts(job: JobDetail): Fact[] {
  return [
    ["Epochs", number(job.epochs)],
    ["Batch size", batchSize(job)],
    ["Mode", modeLabel(job.mode)],
    ["Seed", String(job.seed)],
  ];
}

/** A number, or the range in which the scheduler chooses it, with its present choice. */
function batchSize(job: JobDetail): string {
  const most = job.hyperparameters.max_batch_size;
  const isRange = typeof most === "number" && most > job.batch_size;
  if (!isRange) return number(job.batch_size);
  const chosen = job.current_attempt?.batch_size;
  const present = typeof chosen === "number" ? `: ${number(chosen)}` : "";
  return `${number(job.batch_size)} to ${number(most)}, by the scheduler${present}`;
}

/** Of a job that does not train. */
function predictionFacts(job: JobDetail): Fact[] {
  const { features, examples } = job.prediction;
  const layers = Array.isArray(features) ? features.map(String) : [];
  const facts: Fact[] = [
    ["Kind", job.kind === "evaluate" ? "Evaluate" : layers.length > 0 ? "Features" : "Predict"],
    ["Examples", examples === "held_out" ? "held-out examples" : "all"],
    ["Batch size", number(job.batch_size)],
  ];
  if (layers.length > 0) facts.push(["Layers", layers.join(", ")]);
  return facts;
}
