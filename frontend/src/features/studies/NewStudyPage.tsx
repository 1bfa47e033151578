// SPDX-License-Identifier: Apache-2.0
// Creates a study: what to train, the values to try as YAML, the metric, and how far to go.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, NumberInput, Paper, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Link, useNavigate } from "react-router";

import { Problem } from "@/api/client";
import type { Model, StudyRequest } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { datasetsQuery, modelsQuery, useCreateStudy } from "@/features/studies/queries";

const SPACE = `learning_rate: {log_uniform: [0.0001, 0.1]}
weight_decay: {log_uniform: [0.000001, 0.01]}
`;

const ALGORITHMS = [
  { value: "asha", label: t`ASHA: stops the weak trials early` },
  { value: "tpe", label: t`TPE: learns from earlier trials where to look` },
  { value: "random", label: t`Random points` },
  { value: "grid", label: t`Grid: every combination` },
] as const;

interface Choice {
  id: string;
  name: string;
}

const DISTRIBUTIONS = "{log_uniform: [low, high]}, {uniform: [low, high]}, {int: [low, high]}, {choice: [a, b]}";

export function NewStudyPage() {
  const datasets = useQuery(datasetsQuery);
  const models = useQuery(modelsQuery);
  return (
    <Page title={t`New study`} back={<BackLink to="/studies">{t`Studies`}</BackLink>}>
      <QueryResult of={datasets}>
        {(listed) => (
          <QueryResult of={models}>
            {(known) =>
              listed.results.length === 0 || known.results.length === 0 ? (
                <EmptyState
                  title={t`Nothing to train on yet`}
                  text={t`A study needs a dataset and a model; built-in models are there from the start.`}
                  action={
                    <Button component={Link} to="/datasets">
                      {t`Upload a dataset`}
                    </Button>
                  }
                />
              ) : (
                <NewStudyForm datasets={listed.results} models={known.results} />
              )
            }
          </QueryResult>
        )}
      </QueryResult>
    </Page>
  );
}

const EMPTY = {
  name: "",
  dataset: "",
  model: "",
  project: "",
  epochs: 27 as number | string,
  steps: "" as number | string,
  space: SPACE,
  metric: "eval/accuracy",
  direction: "maximize",
  algorithm: "asha",
  max_trials: 27 as number | string,
  max_parallel: 4 as number | string,
  max_gpu_hours: "" as number | string,
};

type Draft = typeof EMPTY;

function requestOf(draft: Draft): StudyRequest {
  return {
    name: draft.name.trim(),
    job: { ...dataOf(draft), model: draft.model, epochs: Number(draft.epochs) },
    ...(draft.steps !== "" && { steps: Number(draft.steps) }),
    space: draft.space,
    metric: draft.metric.trim(),
    direction: draft.direction as StudyRequest["direction"],
    algorithm: draft.algorithm as NonNullable<StudyRequest["algorithm"]>,
    eta: 2,
    seed: 0,
    max_trials: Number(draft.max_trials),
    max_parallel: Number(draft.max_parallel),
    ...(draft.max_gpu_hours !== "" && { max_gpu_hours: Number(draft.max_gpu_hours) }),
  };
}

/** Jobs of a script may read no dataset: they name their project then. */
function dataOf({ dataset, project }: Draft): Pick<StudyRequest["job"], "dataset" | "project"> {
  return dataset === "" ? { project } : { dataset };
}

const AT_FIELDS = ["name", "metric", "steps", "max_trials", "max_parallel", "max_gpu_hours", "job.dataset", "job.model", "job.epochs"];

function NewStudyForm({ datasets, models }: { datasets: readonly Choice[]; models: readonly Model[] }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, dataset: datasets[0]?.id ?? "", model: models[0]?.id ?? "" });
  const create = useCreateStudy();
  const model = models.find(({ id }) => id === draft.model);
  const isScript = model?.latest_version?.kind === "script";
  const problem = create.error instanceof Problem ? create.error : undefined;
  const spaceError = problem?.errors.find(({ field }) => field === "space" || field.startsWith("space."));
  const change = (part: Partial<Draft>) => setDraft((known) => ({ ...known, ...part }));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate(requestOf({ ...draft, project: model?.project?.id ?? "", steps: isScript ? draft.steps : "" }), { onSuccess: ({ id }) => void navigate(`/studies/${id}`) });
  };
  const atFields = spaceError === undefined ? AT_FIELDS : [...AT_FIELDS, spaceError.field];
  return (
    <Paper withBorder p="md" component="form" aria-label={t`New study`} onSubmit={submit}>
      <Stack>
        <ProblemAlert error={create.error} atFields={atFields} />
        <TextInput
          label={t`Name`}
          required
          maxLength={80}
          value={draft.name}
          error={problem?.of("name")}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <NativeSelect
            label={t`Dataset`}
            miw={200}
            data={[...(isScript ? [{ value: "", label: t`No dataset` }] : []), ...datasets.map(({ id, name }) => ({ value: id, label: name }))]}
            value={draft.dataset}
            error={problem?.of("job.dataset")}
            onChange={(event) => change({ dataset: event.currentTarget.value })}
          />
          <NativeSelect
            label={t`Model`}
            miw={200}
            data={models.map(({ id, name }) => ({ value: id, label: name }))}
            value={draft.model}
            error={problem?.of("job.model")}
            onChange={(event) => change({ model: event.currentTarget.value })}
          />
          <Whole label={t`Epochs of a whole training`} value={draft.epochs} error={problem?.of("job.epochs")} onChange={(epochs) => change({ epochs })} />
        </Group>
        {isScript && (
          <NumberInput
            label={t`Steps of a whole training`}
            description={t`The last step that the script reports; ASHA compares trials at steps before it. Hyperparameters become options of its command line.`}
            min={2}
            allowDecimal={false}
            required={draft.algorithm === "asha"}
            value={draft.steps}
            error={problem?.of("steps")}
            onChange={(steps) => change({ steps })}
          />
        )}
        <Textarea
          label={t`Search space (YAML)`}
          description={t`Of each hyperparameter: ${DISTRIBUTIONS}.`}
          rows={6}
          required
          styles={{ input: { fontFamily: "monospace" } }}
          value={draft.space}
          error={spaceError && [spaceError.message, spaceError.remedy].filter(Boolean).join(" ")}
          onChange={(event) => change({ space: event.currentTarget.value })}
        />
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <TextInput
            label={t`Metric`}
            miw={200}
            required
            value={draft.metric}
            error={problem?.of("metric")}
            onChange={(event) => change({ metric: event.currentTarget.value })}
          />
          <NativeSelect
            label={t`Better is`}
            miw={200}
            data={[
              { value: "maximize", label: t`Larger` },
              { value: "minimize", label: t`Smaller` },
            ]}
            value={draft.direction}
            onChange={(event) => change({ direction: event.currentTarget.value })}
          />
          <NativeSelect
            label={t`Algorithm`}
            miw={200}
            data={[...ALGORITHMS]}
            value={draft.algorithm}
            onChange={(event) => change({ algorithm: event.currentTarget.value })}
          />
        </Group>
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <Whole label={t`Trials at most`} value={draft.max_trials} error={problem?.of("max_trials")} onChange={(max_trials) => change({ max_trials })} />
          <Whole label={t`At the same time`} value={draft.max_parallel} error={problem?.of("max_parallel")} onChange={(max_parallel) => change({ max_parallel })} />
          <NumberInput
            label={t`GPU-hours at most`}
            miw={150}
            placeholder={t`no limit`}
            min={0}
            value={draft.max_gpu_hours}
            error={problem?.of("max_gpu_hours")}
            onChange={(max_gpu_hours) => change({ max_gpu_hours })}
          />
        </Group>
        <Text size="sm" c="dimmed">
          {t`Trials have priority -50: other jobs go first, and trials are preempted first.`}
        </Text>
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            {t`Create study`}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

interface WholeProps {
  label: string;
  value: number | string;
  error: string | undefined;
  onChange: (value: number | string) => void;
}

function Whole(props: WholeProps) {
  return <NumberInput miw={150} min={1} allowDecimal={false} required {...props} />;
}
