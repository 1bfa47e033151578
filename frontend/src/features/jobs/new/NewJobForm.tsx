// SPDX-License-Identifier: Apache-2.0
// The form of a new job: a dataset and a model are enough; everything else is decided by MLHub.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Collapse, Group, NumberInput, Paper, Stack, Text } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type SubmitEvent, Suspense, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";

import { choicesQuery, datasetChoices, modelChoices, useChosen } from "@/api/choices";
import { Problem } from "@/api/client";
import { canSubmit, useMe } from "@/api/session";
import type { Dataset, Job, Model } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { ModelSelect } from "@/components/form/choice/ModelSelect";
import { hasTargets, isReady, isScript } from "@/features/jobs/queries";
import { useSubmitJob } from "@/features/jobs/useSubmitJob";
import { lazyComponent } from "@/lib/chunk";

import { PlanPreview } from "./PlanPreview";
import classes from "./NewJobForm.module.css";
import { type Draft, type Errors, NO_DATASET, check, emptyDraft, errorsAt, fieldOf, isAdvanced, requestOf } from "./draft";

/** Most people never open them. */
const AdvancedFields = lazyComponent(async () => (await import("./AdvancedFields")).AdvancedFields);

/** How long nothing is typed before the scheduler is asked what would become of it. */
const SETTLED_MS = 600;
/** Of a field with its longest placeholder; where two are wider than the form, they stand below each other. */
const WHOLE_PLACEHOLDER_PX = 220;

/** A job whose settings the form begins with, and which it is sent as a clone of. */
export interface Clone {
  id: string;
  name: string;
  draft: Draft;
  /** Starts a job with the settings of the form, of the same versions of data and model. */
  send: (draft: Draft) => Promise<Job>;
}

/** It is there when what it offers is; why that is not, the page says. */
export function NewJobForm({ clone }: { clone?: Clone }) {
  const datasets = useQuery(choicesQuery(datasetChoices));
  const models = useQuery(choicesQuery(modelChoices));
  if (datasets.data !== undefined && models.data !== undefined) return <Fields {...(clone && { clone })} />;
  return datasets.isPending || models.isPending ? <Loading /> : null;
}

function Fields({ clone }: { clone?: Clone }) {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const me = useMe();
  const [draft, setDraft] = useState(() => clone?.draft ?? emptyDraft(search.get("dataset") ?? "", search.get("model") ?? ""));
  const [errors, setErrors] = useState<Errors>({});
  const [isOpen, advanced] = useDisclosure(clone !== undefined);
  const isClone =
    clone !== undefined && (["dataset", "model", "datasets"] as const).every((name) => draft[name] === clone.draft[name]);
  const submit = useSubmitJob(isClone ? () => clone.send(draft) : undefined);
  const offered = useQuery(choicesQuery(datasetChoices)).data;
  const isNothingReady = offered !== undefined && !offered.next && !offered.results.some(isTrainable);
  const model = readyOne(useChosen(modelChoices, draft.model));
  const dataset = useChosen(datasetChoices, draft.dataset === NO_DATASET ? "" : draft.dataset);
  const mayDoWithout = model !== undefined && isScript(model);
  const chosen = mayDoWithout && draft.dataset === NO_DATASET ? NO_DATASET : dataset && isTrainable(dataset) ? dataset.id : undefined;
  const project = (chosen === dataset?.id ? dataset?.project : undefined) ?? model?.project;

  const complete = { ...draft, dataset: chosen ?? "", model: model?.id ?? "" };
  const [settled] = useDebouncedValue(complete, SETTLED_MS);
  const asked = Object.keys(check(settled)).length === 0 ? requestOf(settled, project?.id) : null;

  const change = (part: Partial<Draft>) => {
    setDraft((known) => ({ ...known, ...part }));
    setErrors((known) => Object.fromEntries(Object.entries(known).filter(([field]) => !(field in part))));
  };
  const show = (found: Errors) => {
    setErrors(found);
    if ((Object.keys(found) as (keyof Draft)[]).some(isAdvanced)) advanced.open();
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const found = check(complete);
    show(found);
    if (Object.keys(found).length > 0) return;
    submit.mutate(requestOf(complete, project?.id), {
      onSuccess: (job) => void navigate(`/jobs/${job.id}`),
      onError: (error) => show(error instanceof Problem ? errorsAt(error.errors) : {}),
    });
  };

  return (
    <form className={classes.page} onSubmit={send} noValidate>
    <Paper withBorder p="md">
      <Stack>
        {clone && (
          <Alert color="blue" role="note">
            {isClone
              ? t`A clone of ${clone.name}, with the same versions of data and model: change what shall be different.`
              : t`With the settings of ${clone.name}, and the newest versions of other data or another model.`}
          </Alert>
        )}
        <DatasetSelect
          label={t`Dataset`}
          placeholder={t`Choose a dataset`}
          required
          isOffered={isTrainable}
          extra={mayDoWithout ? [{ value: NO_DATASET, label: t`No dataset` }] : []}
          value={chosen ?? ""}
          onChange={(dataset) => change({ dataset })}
          error={errors.dataset}
          disabled={isNothingReady && !mayDoWithout}
          description={isNothingReady ? <NothingReady /> : undefined}
        />
        <ModelSelect
          label={t`Model`}
          placeholder={t`Choose a model`}
          required
          isOffered={isReady}
          value={model?.id ?? ""}
          onChange={(model) => change({ model })}
          error={errors.model}
        />
        <Group grow align="start" preventGrowOverflow={false}>
          <NumberInput
            label={t`Epochs`}
            miw={WHOLE_PLACEHOLDER_PX}
            description={t`Passes over the examples`}
            placeholder={t`By the size of the dataset`}
            min={1}
            inputWrapperOrder={["label", "input", "description", "error"]}
            allowDecimal={false}
            value={draft.epochs}
            onChange={(epochs) => change({ epochs })}
            error={errors.epochs}
          />
          <NumberInput
            label={t`Batch size`}
            miw={WHOLE_PLACEHOLDER_PX}
            description={t`Over all workers together`}
            placeholder={t`By the size of the dataset`}
            min={1}
            allowDecimal={false}
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={draft.batch_size}
            onChange={(batch_size) => change({ batch_size })}
            error={errors.batch_size}
          />
        </Group>
        {project && (
          <Text size="sm" c="dimmed">
            {t`In the project ${project.organisation.name} / ${project.name}.`}
          </Text>
        )}
        {project && !canSubmit(me, project) && (
          <Alert color="yellow">{t`You may look at ${project.organisation.name}, but not start jobs there.`}</Alert>
        )}
        <div>
          <Button variant="default" size="xs" onClick={advanced.toggle} aria-expanded={isOpen}>
            {isOpen ? t`Hide advanced settings` : t`Advanced settings`}
          </Button>
          <Collapse expanded={isOpen} keepMounted={false}>
            <Suspense fallback={<Loading label={t`Loading the settings`} />}>
              <AdvancedFields draft={draft} errors={errors} projectId={project?.id} onChange={change} />
            </Suspense>
          </Collapse>
        </div>
      </Stack>
    </Paper>
    <Stack className={classes.side} gap="md">
      <PlanPreview request={asked} />
      <Rest error={submit.error} />
      <Group grow>
        <Button variant="default" size="sm" component={Link} to="/jobs">
          {t`Back`}
        </Button>
        <Button type="submit" size="sm" loading={submit.isPending}>
          {t`Start job`}
        </Button>
      </Group>
    </Stack>
    </form>
  );
}

/** What could not be shown at an input. */
function Rest({ error }: { error: Error | null }) {
  const isAtInputs =
    error instanceof Problem && error.errors.length > 0 && error.errors.every((one) => fieldOf(one) !== null);
  return isAtInputs ? null : <ProblemAlert error={error} />;
}

function NothingReady() {
  return (
    <>
      <Trans>
        No dataset is ready yet.{" "}
        <TextLink to="/datasets">Upload one</TextLink>
        , or wait until it has been inspected.
      </Trans>
    </>
  );
}

function isTrainable(dataset: Dataset): boolean {
  return isReady(dataset) && hasTargets(dataset);
}

function readyOne(model: Model | undefined): Model | undefined {
  return model !== undefined && isReady(model) ? model : undefined;
}
