// SPDX-License-Identifier: Apache-2.0
// The part that a new dataset and a new version share: the file, its format, and how to take it.
import { Checkbox, NativeSelect, TextInput } from "@mantine/core";

import { isRecord } from "@/api/client";
import type { DatasetFormat } from "@/api/types";
import { DropZone } from "@/components/form/DropZone";
import type { Sending } from "@/components/form/UploadForm";
import { ACCEPTED_SUFFIXES, DATASET_FORMATS, FORMAT_CHOICES, FORMATS_HINT, formatOfFile } from "@/domain/datasetFormat";
import { DEFAULT_TEXT, TextFields, textFields, type TextValues } from "@/features/datasets/TextFields";

export interface FileValues {
  file: File | null;
  format: DatasetFormat | "";
  target: string;
  lacksTargets: boolean;
  text: TextValues;
}

export const NO_FILE: FileValues = { file: null, format: "", target: "", lacksTargets: false, text: DEFAULT_TEXT };

/** What an earlier version was uploaded with, most likely the next one's too. */
export function valuesOf(options: unknown): FileValues {
  const given = isRecord(options) ? options : {};
  const word = (name: string) => (typeof given[name] === "string" ? given[name] : "");
  const count = (name: string) => (typeof given[name] === "number" ? given[name] : "");
  return {
    ...NO_FILE,
    target: word("target"),
    lacksTargets: given.targets === "none",
    text: {
      tokenizer: word("tokenizer"),
      vocabulary_size: count("vocabulary_size"),
      context_length: count("context_length"),
      documents: word("documents"),
    },
  };
}

/** What of the values to send: a target only of tables, tokens only of texts. */
export function fileFields({ file, format, target, lacksTargets, text }: FileValues) {
  const taken = formatOf(file, format);
  const options = taken && DATASET_FORMATS[taken];
  const isToPredictOn = lacksTargets && options?.mayLackTargets === true;
  return {
    file: file ?? undefined,
    format,
    target: options?.hasTargetColumn && !isToPredictOn ? target.trim() : "",
    targets: isToPredictOn ? "none" : "",
    ...textFields(options?.isTokenized ? text : DEFAULT_TEXT),
  };
}

function formatOf(file: File | null, format: DatasetFormat | ""): DatasetFormat | undefined {
  if (format !== "") return format;
  return file === null ? undefined : formatOfFile(file.name);
}

interface Props extends Sending {
  values: FileValues;
  onChange: (values: FileValues) => void;
}

export function FileFields({ values, onChange, isDisabled, problem }: Props) {
  const guess = values.file === null ? undefined : formatOfFile(values.file.name);
  const taken = formatOf(values.file, values.format);
  const options = taken && DATASET_FORMATS[taken];
  return (
    <>
      <DropZone
        label="Data file"
        hint={FORMATS_HINT}
        accept={ACCEPTED_SUFFIXES}
        file={values.file}
        onFile={(file) => onChange({ ...values, file })}
        isDisabled={isDisabled}
        error={problem?.of("file")}
      />
      <NativeSelect
        label="Format"
        value={values.format}
        disabled={isDisabled}
        onChange={(event) => onChange({ ...values, format: event.currentTarget.value as DatasetFormat | "" })}
        data={[
          { value: "", label: guess ? `Automatic: ${DATASET_FORMATS[guess].label}` : "Automatic: by the file" },
          ...FORMAT_CHOICES,
        ]}
        error={problem?.of("format")}
      />
      {options?.mayLackTargets && (
        <Checkbox
          label="It has no targets"
          description="Only to predict on: a table without the column, arrays without y, images in no folders."
          checked={values.lacksTargets}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...values, lacksTargets: event.currentTarget.checked })}
          error={problem?.of("targets")}
        />
      )}
      {options?.hasTargetColumn && !values.lacksTargets && (
        <TextInput
          label="Target column"
          description="The column to predict. Left empty: the one called target, label, class or y."
          value={values.target}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...values, target: event.currentTarget.value })}
          error={problem?.of("target")}
        />
      )}
      {options?.isTokenized && (
        <TextFields
          values={values.text}
          onChange={(part) => onChange({ ...values, text: { ...values.text, ...part } })}
          isDisabled={isDisabled}
          problem={problem}
        />
      )}
    </>
  );
}
