// SPDX-License-Identifier: Apache-2.0
// The form of a new study: what to train, the values to try as YAML, the metric, and how far to go.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, NativeSelect, NumberInput, Paper, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { modelChoices, useChosen } from "@/api/choices";
import { type FieldError, Problem } from "@/api/client";
import type { Study } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { ModelSelect } from "@/components/form/choice/ModelSelect";
import { type Draft, requestOf, settingsOf } from "@/features/studies/draft";
import { useCreateStudy } from "@/features/studies/queries";

const ALGORITHMS = [
  { value: "asha", label: t`ASHA: stops the weak trials early` },
  { value: "tpe", label: t`TPE: learns from earlier trials where to look` },
  { value: "random", label: t`Random points` },
  { value: "grid", label: t`Grid: every combination` },
] as const;

const DISTRIBUTIONS = "{log_uniform: [low, high]}, {uniform: [low, high]}, {int: [low, high]}, {choice: [a, b]}";

const AT_FIELDS = [
  "name", "metric", "steps", "min_steps", "min_epochs", "eta", "seed", "max_trials", "max_parallel", "max_epochs", "max_gpu_hours",
  "job.dataset", "job.model", "job.epochs",
];

export function NewStudyForm({ begun, clone }: { begun: Draft; clone: Study | undefined }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>(begun);
  const create = useCreateStudy();
  const model = useChosen(modelChoices, draft.model);
  const isScript = model === undefined ? clone?.unit === "steps" || clone?.has_dataset === false : model.latest_version?.kind === "script";
  const problem = create.error instanceof Problem ? create.error : undefined;
  const at = (...fields: string[]) => problem?.errors.find(({ field }) => fields.some((one) => field === one || field.startsWith(`${one}.`)));
  const spaceError = at("space");
  const settings = settingsOf(draft);
  const settingsError = problem?.errors.find(({ field }) => field.startsWith("job.") && !AT_FIELDS.includes(field));
  const change = (part: Partial<Draft>) => setDraft((known) => ({ ...known, ...part }));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (settings === null) return;
    const projectId = clone?.project.id ?? model?.project?.id ?? "";
    create.mutate(requestOf(draft, { isScript, projectId, clone }), { onSuccess: ({ id }) => void navigate(`/studies/${id}`) });
  };
  const shownAt = [spaceError, settingsError].flatMap((error) => error?.field ?? []);
  return (
    <Paper withBorder p="md" component="form" aria-label={t`New study`} onSubmit={submit}>
      <Stack>
        {clone && (
          <Alert color="blue" role="note">
            {clone.model_version === null || (clone.has_dataset && clone.dataset_version === null)
              ? t`With the settings of ${clone.name}; its dataset or its model was deleted: choose another one.`
              : t`A clone of ${clone.name}, with the same versions of data and model: change what shall be different.`}
          </Alert>
        )}
        <ProblemAlert error={create.error} atFields={[...AT_FIELDS, ...shownAt]} />
        <TextInput
          label={t`Name`}
          required
          maxLength={80}
          value={draft.name}
          error={problem?.of("name")}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <DatasetSelect
            label={t`Dataset`}
            miw={200}
            allowDeselect={false}
            extra={isScript ? [{ value: "", label: t`No dataset` }] : []}
            value={draft.dataset}
            error={problem?.of("job.dataset")}
            onChange={(dataset) => change({ dataset })}
          />
          <ModelSelect
            label={t`Model`}
            miw={200}
            allowDeselect={false}
            value={draft.model}
            error={problem?.of("job.model")}
            onChange={(id) => change({ model: id })}
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
          error={spaceError && textOf(spaceError)}
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
        <Advanced
          draft={draft}
          isScript={isScript}
          isBegunOpen={clone !== undefined}
          errorAt={(...fields) => {
            const error = at(...fields);
            return error && textOf(error);
          }}
          settingsError={settings === null ? t`This is no JSON object, such as {"batch_size": 64}.` : settingsError && `${settingsError.field}: ${textOf(settingsError)}`}
          onChange={change}
        />
        <Text size="sm" c="dimmed">
          {t`Trials have priority -50: other jobs go first, and trials are preempted first.`}
        </Text>
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending} disabled={settings === null}>
            {t`Create study`}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function textOf({ message, remedy }: FieldError): string {
  return [message, remedy].filter(Boolean).join(" ");
}

interface AdvancedProps {
  draft: Draft;
  isScript: boolean;
  isBegunOpen: boolean;
  errorAt: (...fields: string[]) => string | undefined;
  settingsError: string | undefined;
  onChange: (part: Partial<Draft>) => void;
}

function Advanced({ draft, isScript, isBegunOpen, errorAt, settingsError, onChange }: AdvancedProps) {
  const [isOpen, { toggle }] = useDisclosure(isBegunOpen);
  const errors = { eta: errorAt("eta"), first: errorAt("min_epochs", "min_steps"), seed: errorAt("seed"), epochs: errorAt("max_epochs") };
  const isShown = isOpen || settingsError !== undefined || Object.values(errors).some((error) => error !== undefined);
  return (
    <div>
      <Button variant="default" size="xs" onClick={toggle} aria-expanded={isShown}>
        {isShown ? t`Hide advanced settings` : t`Advanced settings`}
      </Button>
      {isShown && (
        <Stack mt="sm">
          <Group grow align="flex-start" preventGrowOverflow={false}>
            {draft.algorithm === "asha" && (
              <>
                <NumberInput
                  label={t`First rung`}
                  miw={150}
                  placeholder={t`chosen by MLHub`}
                  min={1}
                  allowDecimal={false}
                  value={draft.first_rung}
                  error={errors.first}
                  onChange={(first_rung) => onChange({ first_rung })}
                />
                <NumberInput
                  label={t`Trained on: 1 of`}
                  miw={150}
                  min={2}
                  max={10}
                  allowDecimal={false}
                  required
                  value={draft.eta}
                  error={errors.eta}
                  onChange={(eta) => onChange({ eta })}
                />
              </>
            )}
            <NumberInput
              label={t`Seed of the search`}
              miw={150}
              min={0}
              allowDecimal={false}
              required
              value={draft.seed}
              error={errors.seed}
              onChange={(seed) => onChange({ seed })}
            />
            {!isScript && (
              <NumberInput
                label={t`Epochs of all trials at most`}
                miw={150}
                placeholder={t`no limit`}
                min={1}
                allowDecimal={false}
                value={draft.max_epochs}
                error={errors.epochs}
                onChange={(max_epochs) => onChange({ max_epochs })}
              />
            )}
          </Group>
          <Textarea
            label={t`Further settings of the jobs (JSON)`}
            description={t`As a job takes them: batch_size, hyperparameters, strategy, resources, limits, environment, secrets.`}
            placeholder={'{"batch_size": 64}'}
            rows={6}
            resize="vertical"
            spellCheck={false}
            styles={{ input: { fontFamily: "monospace" } }}
            value={draft.settings}
            error={settingsError}
            onChange={(event) => onChange({ settings: event.currentTarget.value })}
          />
        </Stack>
      )}
    </div>
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
