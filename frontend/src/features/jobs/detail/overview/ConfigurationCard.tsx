// SPDX-License-Identifier: Apache-2.0
// What a job was submitted with.
import { t } from "@lingui/core/macro";
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
      t`Dataset`,
      data === null ? (
        t`No dataset`
      ) : (
        <TextLink key="d" to={`/datasets/${data.dataset.id}`}>{`${data.dataset.name} v${data.number}`}</TextLink>
      ),
    ],
    ...job.datasets.map(({ name, dataset, version, number: n }): Fact => [
      t`Dataset ${name}`,
      <TextLink key={name} to={`/datasets/${dataset.id}?version=${version}`}>{`${dataset.name} v${n}`}</TextLink>,
    ]),
    ...(job.kind === "notebook"
      ? [[t`Kind`, t`Notebook`] satisfies Fact]
      : [
          [t`Model`, <TextLink key="m" to={`/models/${model.model.id}`}>{`${model.model.name} v${model.number}`}</TextLink>] satisfies Fact,
          ...(job.kind === "train" ? trainingFacts(job) : predictionFacts(job)),
          [t`Workers allowed`, t`${job.min_workers} to ${job.max_workers}`] satisfies Fact,
        ]),
    [t`Priority`, String(job.priority)],
    ...podSettingFacts(job),
  ];
  if (job.target_metric !== "") {
    const sign = fallsWhenBetter(job.target_metric) ? "≤" : "≥";
    const value = job.target_value === null ? "" : ` ${sign} ${number(job.target_value)}`;
    facts.push([t`Target`, `${job.target_metric}${value}`]);
  }
  if (factsOf(job.strategy).length > 0) {
    facts.push([t`Strategy`, parameterList(job.strategy)]);
  }
  if (factsOf(job.hyperparameters).length > 0) {
    facts.push([t`Hyperparameters`, parameterList(job.hyperparameters)]);
  }
  const variables = Object.entries(job.environment).map(([name, value]) => `${name}=${value}`);
  if (variables.length > 0) facts.push([t`Environment variables`, variables.join(", ")]);
  if (job.secrets.length > 0) facts.push([t`Secrets`, job.secrets.join(", ")]);
  if (job.image !== "") facts.push([t`Container image`, job.image]);
  else if (job.code_image !== "") facts.push([t`Container image`, t`${job.code_image}, of the code`]);
  return (
    <SectionCard title={t`Configuration`}>
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
    [t`Epochs`, number(job.epochs)],
    [t`Batch size`, batchSize(job)],
    [t`Mode`, modeLabel(job.mode)],
    [t`Seed`, String(job.seed)],
  ];
}

/** A number, or the range in which the scheduler chooses it, with its present choice. */
function batchSize(job: JobDetail): string {
  const most = job.hyperparameters.max_batch_size;
  const isRange = typeof most === "number" && most > job.batch_size;
  if (!isRange) return number(job.batch_size);
  const chosen = job.current_attempt?.batch_size;
  const present = typeof chosen === "number" ? `: ${number(chosen)}` : "";
  return t`${number(job.batch_size)} to ${number(most)}, by the scheduler${present}`;
}

/** Of a job that does not train. */
function predictionFacts(job: JobDetail): Fact[] {
  const { features, examples } = job.prediction;
  const layers = Array.isArray(features) ? features.map(String) : [];
  const facts: Fact[] = [
    [t`Kind`, job.kind === "evaluate" ? t`Evaluate` : layers.length > 0 ? t`Features` : t`Predict`],
    [t`Examples`, examples === "held_out" ? t`held-out examples` : t`all`],
    [t`Batch size`, number(job.batch_size)],
  ];
  if (layers.length > 0) facts.push([t`Layers`, layers.join(", ")]);
  return facts;
}
