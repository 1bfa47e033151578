// SPDX-License-Identifier: Apache-2.0
// The form of a new job: a dataset and a model are enough; everything else is decided by MLHub.
import { t } from "@lingui/core/macro";
import { Alert, Button, Collapse, Group, Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { Link } from "react-router";

import { choicesQuery, datasetChoices, modelChoices } from "@/api/choices";
import { Problem } from "@/api/client";
import { canSubmit, useMe } from "@/api/session";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { lazyComponent } from "@/lib/chunk";

import { ArgumentsField, ChoiceFields, LengthFields } from "./basics/BasicFields";
import { type Clone, useNewJob } from "./basics/useNewJob";
import { PlanPreview } from "./plan/PlanPreview";
import classes from "./NewJobForm.module.css";
import { fieldOf, sizeOf } from "./draft";

/** Most people never open them. */
const AdvancedFields = lazyComponent(async () => (await import("./AdvancedFields")).AdvancedFields);

/** It is there when what it offers is; why that is not, the page says. */
export function NewJobForm({ clone }: { clone?: Clone }) {
  const datasets = useQuery(choicesQuery(datasetChoices));
  const models = useQuery(choicesQuery(modelChoices));
  if (datasets.data !== undefined && models.data !== undefined) return <Fields {...(clone && { clone })} />;
  return datasets.isPending || models.isPending ? <Loading /> : null;
}

function Fields({ clone }: { clone?: Clone }) {
  const { fields, choice, isClone, asked, send, submit, advanced } = useNewJob(clone);
  const { project, ...chosen } = choice;
  return (
    <form className={classes.page} onSubmit={send} noValidate>
      <Paper withBorder p="md">
        <Stack>
          {clone && <CloneNote clone={clone} isClone={isClone} />}
          <ChoiceFields {...fields} {...chosen} />
          {choice.mayDoWithout && <ArgumentsField {...fields} />}
          <LengthFields {...fields} isScript={choice.mayDoWithout} />
          {project && <ProjectNote project={project} />}
          <div>
            <Button variant="default" size="xs" onClick={advanced.toggle} aria-expanded={advanced.isOpen}>
              {advanced.isOpen ? t`Hide advanced settings` : t`Advanced settings`}
            </Button>
            <Collapse expanded={advanced.isOpen} keepMounted={false}>
              <Suspense fallback={<Loading label={t`Loading the settings`} />}>
                <AdvancedFields {...fields} projectId={project?.id} />
              </Suspense>
            </Collapse>
          </div>
        </Stack>
      </Paper>
      <Stack className={classes.side} gap="md">
        <PlanPreview request={asked} size={sizeOf(fields.draft)} onSize={(n) => fields.onChange({ min_workers: n ?? "", max_workers: n ?? "" })} />
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

function CloneNote({ clone, isClone }: { clone: Clone; isClone: boolean }) {
  return (
    <Alert color="blue" role="note">
      {isClone
        ? t`A clone of ${clone.name}, with the same versions of data and model: change what shall be different.`
        : t`With the settings of ${clone.name}, and the newest versions of other data or another model.`}
    </Alert>
  );
}

/** Where the job will be, and whether one may start it there. */
function ProjectNote({ project }: { project: NonNullable<ReturnType<typeof useNewJob>["choice"]["project"]> }) {
  const me = useMe();
  return (
    <>
      <Text size="sm" c="dimmed">
        {t`In the project ${project.organisation.name} / ${project.name}.`}
      </Text>
      {!canSubmit(me, project) && (
        <Alert color="yellow">{t`You may look at ${project.organisation.name}, but not start jobs there.`}</Alert>
      )}
    </>
  );
}

/** What could not be shown at an input. */
function Rest({ error }: { error: Error | null }) {
  const isAtInputs =
    error instanceof Problem && error.errors.length > 0 && error.errors.every((one) => fieldOf(one) !== null);
  return isAtInputs ? null : <ProblemAlert error={error} />;
}
