// SPDX-License-Identifier: Apache-2.0
// The progress of a job, its speed, and when it is predicted to start and finish.
import { t } from "@lingui/core/macro";
import { Group, Paper, Progress, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Job } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { PredictedStart } from "@/components/display/PredictedStart";
import { PredictedTime } from "@/components/display/PredictedTime";
import { RelativeTime } from "@/components/display/RelativeTime";
import { isMoving, isOver } from "@/domain/states/jobState";
import { number, percent, significant } from "@/lib/quantities";
import { clock, clockRange, duration, shortDuration } from "@/lib/time";

/** stateBar: what it did so far, below how far it is. cols: of its facts, where there is room. */
export function JobProgress({ job, stateBar, cols = 5 }: { job: Job; stateBar?: ReactNode; cols?: number }) {
  return (
    <Paper component="section" withBorder p="md" aria-label={t`Progress`}>
      <Group justify="space-between" mb={6}>
        <Text size="sm" fw={600}>
          {job.progress === null ? t`Length not known` : percent(job.progress)}
        </Text>
        <Text size="sm" c="dimmed">
          {done(job)}
        </Text>
      </Group>
      <Progress.Root size="md" mb="md">
        <Progress.Section
          value={100 * (job.progress ?? 0)}
          color={job.state === "failed" ? "red" : undefined}
          aria-label={t`Progress`}
        />
      </Progress.Root>
      <Facts facts={[...pace(job), ...prediction(job)]} cols={cols} />
      {stateBar && <div style={{ marginTop: 16 }}>{stateBar}</div>}
    </Paper>
  );
}

function done(job: Job): string {
  if (job.steps_total === 0) return t`${number(job.steps_done)} steps`;
  return job.step_unit === "epoch"
    ? t`${number(Math.floor(job.epoch * 100) / 100)} of ${number(job.steps_total)} epochs`
    : t`${number(job.steps_done)} of ${number(job.steps_total)} steps`;
}

function pace(job: Job): Fact[] {
  if (job.step_unit === "epoch") return [[t`Time of an epoch`, shortDuration(job.step_s)]];
  const countsEpochs = job.epoch > 0 || (job.progress !== null && job.model_version.kind !== "script");
  return [
    ...(job.kind === "train" && countsEpochs
      ? [[t`Epoch`, t`${number(Math.floor(job.epoch * 100) / 100)} of ${number(job.epochs)}`] satisfies Fact]
      : []),
    [t`Step time`, shortDuration(job.step_s)],
    ...(job.step_s !== null && job.step_s > 0 && !isOver(job)
      ? [[t`Throughput`, t`${number(significant((job.current_attempt?.batch_size ?? job.batch_size) / job.step_s, 3))} examples/s`] satisfies Fact]
      : []),
  ];
}

function prediction(job: Job): Fact[] {
  if (isOver(job)) {
    const facts: Fact[] = [[t`Ended`, <RelativeTime key="ended" at={job.finished_at} />]];
    if (job.first_predicted_finish_at !== null) facts.push([t`First prediction`, clock(job.first_predicted_finish_at)]);
    return facts;
  }
  const facts: Fact[] = [];
  if (!isMoving(job)) facts.push([t`Predicted start`, <PredictedStart key="start" at={job.predicted_start_at} p90={job.predicted_start_p90_at} explanations={job.explanations} />]);
  facts.push([t`Predicted finish`, <Finish key="finish" job={job} />]);
  if (job.first_predicted_finish_at !== null) {
    facts.push([t`First prediction`, `${clock(job.first_predicted_finish_at)}${drift(job)}`]);
  }
  return facts;
}

/** P50 and P90: "in 5 min (14:05–14:09)". */
function Finish({ job }: { job: Job }) {
  const { predicted_finish_at: p50, predicted_finish_p90_at: p90 } = job;
  if (p50 === null) return <>{t`not known`}</>;
  return (
    <>
      <PredictedTime at={p50} /> ({clockRange(p50, p90)})
    </>
  );
}

/** How far today's prediction is from the first one. */
function drift(job: Job): string {
  if (job.predicted_finish_at === null || job.first_predicted_finish_at === null) return "";
  const seconds = (Date.parse(job.predicted_finish_at) - Date.parse(job.first_predicted_finish_at)) / 1000;
  if (Math.abs(seconds) < 1) return "";
  return seconds > 0 ? t`, now ${duration(seconds)} later` : t`, now ${duration(-seconds)} earlier`;
}
