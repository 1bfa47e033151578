// SPDX-License-Identifier: Apache-2.0
// Asks for a notebook's project, name, dataset and idle limit, and starts it in the queue.
import { t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Stack, TextInput } from "@mantine/core";
import { type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { datasetChoices, useChosen } from "@/api/choices";
import { Problem } from "@/api/client";
import type { Dataset, JobSubmit } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { ProjectSelect, useUsableProject } from "@/components/form/choice/ProjectSelect";
import { isReady } from "@/features/jobs/queries";
import { useSubmitJob } from "@/features/jobs/useSubmitJob";

const USUAL_IDLE_MINUTES = 30;
const FIELDS = ["project", "name", "dataset", "limits.idle_s"];

export function NotebookForm({ onBack }: { onBack: () => void }) {
  const navigate = useNavigate();
  const submit = useSubmitJob();
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const [chosenDataset, setDataset] = useState("");
  const [minutes, setMinutes] = useState<number | string>(USUAL_IDLE_MINUTES);
  const project = useUsableProject("submit", chosen);
  const isOffered = (found: Dataset) => isReady(found) && found.project.organisation.id === project?.organisation.id;
  const found = useChosen(datasetChoices, chosenDataset);
  const dataset = found !== undefined && isOffered(found) ? found.id : null;
  const errors = submit.error instanceof Problem ? submit.error.errors : [];
  const errorAt = (field: string) => {
    const found = errors.find((error) => error.field === field);
    return found === undefined ? undefined : [found.message, found.remedy].filter(Boolean).join(" ");
  };

  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (project === undefined) return;
    const request: JobSubmit = {
      kind: "notebook",
      project: project.id,
      ...(name.trim() === "" ? {} : { name: name.trim() }),
      ...(dataset === null ? {} : { dataset }),
      ...(typeof minutes === "number" ? { limits: { idle_s: minutes * 60 } } : {}),
    };
    submit.mutate(request, { onSuccess: ({ id }) => void navigate(`/jobs/${id}`) });
  };

  return (
    <form onSubmit={send} noValidate>
      <Stack>
        <ProjectSelect may="submit" value={project?.id ?? ""} onChange={setChosen} error={errorAt("project")} />
        <TextInput
          label={t`Name`}
          placeholder={t`notebook`}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={errorAt("name")}
        />
        <DatasetSelect
          label={t`Dataset`}
          placeholder={t`None`}
          description={t`Its folder is in the environment variable MLHUB_DATA_DIR.`}
          clearable
          isOffered={isOffered}
          value={dataset ?? ""}
          onChange={setDataset}
          error={errorAt("dataset")}
        />
        <NumberInput
          label={t`Idle limit (minutes)`}
          description={t`Without a running cell, terminal or GPU for so long, it is paused; its folder is kept.`}
          min={1}
          max={7 * 24 * 60}
          value={minutes}
          onChange={setMinutes}
          error={errorAt("limits.idle_s")}
        />
        <ProblemAlert error={submit.error} atFields={FIELDS} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onBack}>
            {t`Back`}
          </Button>
          <Button type="submit" disabled={project === undefined} loading={submit.isPending}>
            {t`Start`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
