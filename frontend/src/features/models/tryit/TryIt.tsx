// SPDX-License-Identifier: Apache-2.0
// Tries a trained model out with one row, an image, a clip or a text, and shows what it answers.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Problem, api, isRecord, unwrap } from "@/api/client";
import type { ModelVersion } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { trainedOnQuery } from "@/features/models/queries";

import { Bars } from "./Bars";
import { NO_VALUES, RowFields } from "./RowFields";
import { type ModelInputs, type RowValues, answerOf, barsOf, inputsOf, numbersRow, tableRow, unseenOf } from "./inputs";

export function TryIt({ version, datasetVersion }: { version: ModelVersion; datasetVersion: string }) {
  const data = useQuery(trainedOnQuery(datasetVersion));
  return (
    <Section title={t`Try it`}>
      <QueryResult of={data}>
        {({ format, schema, statistics }) => <Form version={version} inputs={inputsOf(format, schema, statistics)} />}
      </QueryResult>
    </Section>
  );
}

function Form({ version, inputs }: { version: ModelVersion; inputs: ModelInputs }) {
  const [values, setValues] = useState(NO_VALUES);
  const predict = useMutation({
    mutationFn: async () => {
      const path = { id: version.model.id, version: String(version.number) };
      const row = await rowOf(inputs, values);
      return unwrap(api.POST("/api/v1/models/{id}/versions/{version}/predict", { params: { path }, body: { rows: [row] } }));
    },
  });
  const errors = predict.error instanceof Problem ? predict.error.errors : [];
  const fields = inputs.kind === "columns" ? inputs.columns.map(({ name }) => name) : ["image", "audio", "text", "x"];
  const errorAt = (field: string) => {
    const found = errors.find((error) => error.field === field);
    return found && [found.message, found.remedy].filter(Boolean).join(" ");
  };
  const isComplete =
    inputs.kind === "columns" ||
    (inputs.kind === "image" || inputs.kind === "audio" ? values[inputs.kind] !== null : values.text.trim() !== "");
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (isComplete) predict.mutate();
  };
  const [found] = predict.data?.predictions ?? [];
  return (
    <Paper withBorder p="md">
      <form onSubmit={send} noValidate>
        <Stack>
          <RowFields inputs={inputs} values={values} onChange={setValues} errorAt={errorAt} />
          <ProblemAlert error={predict.error} atFields={fields} />
          {inputs.kind !== "none" && (
            <Group gap="sm">
              <Button type="submit" disabled={!isComplete} loading={predict.isPending}>
                {t`Predict`}
              </Button>
              {predict.isPending && (
                <Text size="sm" c="dimmed">
                  {t`The first prediction of a model takes some seconds.`}
                </Text>
              )}
            </Group>
          )}
          {isRecord(found) && <Answer prediction={found} />}
        </Stack>
      </form>
    </Paper>
  );
}

function Answer({ prediction }: { prediction: Record<string, unknown> }) {
  const answer = answerOf(prediction);
  const bars = barsOf(prediction);
  return (
    <Stack gap="xs" role="status" aria-label={t`Prediction`}>
      <Text fw={600} size="lg" style={{ overflowWrap: "anywhere" }}>
        {answer ?? t`It goes on with`}
      </Text>
      {unseenOf(prediction).map(([column, word]) => (
        <Text key={column} size="sm" style={{ overflowWrap: "anywhere" }}>
          {t`The column ${column} holds “${word}”, which training did not see: it counts as none of the categories that the model knows.`}
        </Text>
      ))}
      {bars.length > 0 && <Bars bars={bars} />}
    </Stack>
  );
}

async function rowOf(inputs: ModelInputs, values: RowValues): Promise<unknown> {
  if (inputs.kind === "columns") return tableRow(inputs.columns, values);
  if (inputs.kind === "image" && values.image !== null) return { image: await base64(values.image) };
  if (inputs.kind === "audio" && values.audio !== null) return { audio: await base64(values.audio) };
  return inputs.kind === "text" ? { text: values.text } : numbersRow(values.text);
}

/** The file as a data: address. */
function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onloadend = () => {
      if (typeof reader.result === "string") resolve(reader.result);
      else reject(new Error(`${file.name} cannot be read.`));
    };
    reader.readAsDataURL(file);
  });
}
