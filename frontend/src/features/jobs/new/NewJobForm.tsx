// SPDX-License-Identifier: Apache-2.0
// The form of a new job: a dataset and a model are enough; everything else is decided by MLHub.
import { t } from "@lingui/core/macro";
import { Alert, Button, Collapse, Group, Paper, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
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
import { type Errors, fieldOf, sizeOf } from "./draft";

/** Most people never open them. */
const AdvancedFields = lazyComponent(async () => (await import("./AdvancedFields")).AdvancedFields);

const Templates = lazyComponent(async () => (await import("./file/Templates")).Templates);

const FileEditor = lazyComponent(async () => (await import("./file/FileEditor")).FileEditor);

/** It is there once it is known what it offers; where that cannot be read, the page says why, and all else can be written. */
export function NewJobForm({ clone }: { clone?: Clone }) {
  const datasets = useQuery(choicesQuery(datasetChoices));
  const models = useQuery(choicesQuery(modelChoices));
  return datasets.isFetched && models.isFetched ? <Fields {...(clone && { clone })} /> : <Loading />;
}

function Fields({ clone }: { clone?: Clone }) {
  const { fields, choice, isClone, asked, send, submit, file, advanced } = useNewJob(clone);
  const { project, ...chosen } = choice;
  const [changes, setChanges] = useState(0); // of the draft from outside the file, which is then written anew
  const setSize = (n: number | null) => {
    fields.onChange({ min_workers: n ?? "", max_workers: n ?? "" });
    setChanges((before) => before + 1);
  };
  return (
    <form className={classes.page} onSubmit={send} noValidate>
      <Paper withBorder p="md">
        <Stack>
          {clone && <CloneNote clone={clone} isClone={isClone} />}
          <Group justify="space-between" gap="xs">
            <SegmentedControl
              size="xs"
              aria-label={t`How the settings are written`}
              value={file.isShown ? "file" : "form"}
              onChange={(value) => file.show(value === "file")}
              data={[
                { value: "form", label: t`Form` },
                { value: "file", label: "YAML" },
              ]}
            />
            <Suspense fallback={null}>
              <Templates
                request={file.request}
                onDraft={(written) => {
                  file.onDraft(written);
                  setChanges((before) => before + 1);
                }}
              />
            </Suspense>
          </Group>
          {file.isShown ? (
            <Suspense fallback={<Loading />}>
              <FileEditor key={changes} request={file.request} onDraft={file.onDraft} onSettled={file.onSettled} />
            </Suspense>
          ) : (
            <>
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
            </>
          )}
          {file.isShown && project && <ProjectNote project={project} />}
        </Stack>
      </Paper>
      <Stack className={classes.side} gap="md">
        <PlanPreview request={asked} size={sizeOf(fields.draft)} onSize={setSize} />
        <Rest error={submit.error} isAll={file.isShown} />
        {file.isShown && <FormErrors errors={fields.errors} />}
        <Group grow>
          <Button variant="default" size="sm" component={Link} to="/jobs">
            {t`Back`}
          </Button>
          <Button type="submit" size="sm" loading={submit.isPending} disabled={!file.isSettled}>
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

/** Of a file: there are no inputs to say it at. */
function FormErrors({ errors }: { errors: Errors }) {
  const found = Object.values(errors);
  if (found.length === 0) return null;
  return <Alert color="red" role="alert">{found.join(" ")}</Alert>;
}

/** What could not be shown at an input; isAll: there are no inputs. */
function Rest({ error, isAll }: { error: Error | null; isAll: boolean }) {
  const isAtInputs =
    !isAll &&
    error instanceof Problem && error.errors.length > 0 && error.errors.every((one) => fieldOf(one) !== null);
  return isAtInputs ? null : <ProblemAlert error={error} />;
}
