// SPDX-License-Identifier: Apache-2.0
// Asks what a trained model shall do with a dataset (predictions, layers' outputs, or metrics), and starts that job.
import { t } from "@lingui/core/macro";
import { Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { choicesQuery, datasetChoices, useChosen } from "@/api/choices";
import { Problem } from "@/api/client";
import type { Dataset, Job, JobSubmit } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { hasTargets, isReady } from "@/features/jobs/queries";
import { useSubmitJob } from "@/features/jobs/useSubmitJob";

const KINDS = [
  { value: "predict", label: t`Predict: an output for each example` },
  { value: "features", label: t`Features: the outputs of layers for each example` },
  { value: "evaluate", label: t`Evaluate: the metrics on all examples` },
];
type PredictionKind = "predict" | "features" | "evaluate";

export function PredictForm({ job, onBack }: { job: Job; onBack: () => void }) {
  const navigate = useNavigate();
  const choices = useQuery(choicesQuery(datasetChoices));
  const submit = useSubmitJob();
  const [kind, setKind] = useState<PredictionKind>("predict");
  const [chosen, setChosen] = useState("");
  const [layers, setLayers] = useState("");
  const isOffered = (found: Dataset) =>
    isReady(found) && found.project.organisation.id === job.project.organisation.id && (kind !== "evaluate" || hasTargets(found));
  const found = useChosen(datasetChoices, chosen);
  const dataset = found !== undefined && isOffered(found) ? found : undefined;
  const layerNames = layers.split(",").map((name) => name.trim()).filter(Boolean);
  const isComplete = dataset !== undefined && (kind !== "features" || layerNames.length > 0);
  const errors = submit.error instanceof Problem ? submit.error.errors : [];
  const errorAt = (field: string) => {
    const found = errors.find((error) => error.field.startsWith(field));
    return found === undefined ? undefined : [found.message, found.remedy].filter(Boolean).join(" ");
  };

  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isComplete) return;
    const request: JobSubmit = {
      kind: kind === "evaluate" ? "evaluate" : "predict",
      model_of: job.id,
      dataset: dataset.id,
      project: job.project.id,
      ...(kind === "features" ? { features: layerNames } : {}),
    };
    submit.mutate(request, { onSuccess: ({ id }) => void navigate(`/jobs/${id}`) });
  };

  return (
    <form onSubmit={send} noValidate>
      <Stack>
        <Select
          label={t`Kind`}
          data={KINDS}
          value={kind}
          allowDeselect={false}
          onChange={(value) => setKind((value as PredictionKind | null) ?? "predict")}
        />
        <DatasetSelect
          label={t`Dataset`}
          placeholder={choices.isPending ? t`Loading` : t`Choose a dataset`}
          description={t`It has the model's input columns; targets are only needed to evaluate.`}
          required
          isOffered={isOffered}
          value={dataset?.id ?? ""}
          onChange={(value) => {
            setChosen(value);
            submit.reset();
          }}
          error={errorAt("dataset")}
        />
        {kind === "features" && (
          <TextInput
            label={t`Layers`}
            description={t`Their names in the model, separated by commas: 0, encoder.norm`}
            required
            value={layers}
            onChange={(event) => setLayers(event.currentTarget.value)}
            error={errorAt("features")}
          />
        )}
        <ProblemAlert error={choices.error ?? (errorAt("dataset") ?? errorAt("features") ? null : submit.error)} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onBack}>
            {t`Back`}
          </Button>
          <Button type="submit" disabled={!isComplete} loading={submit.isPending}>
            {t`Start`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
