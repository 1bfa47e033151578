// SPDX-License-Identifier: Apache-2.0
// The part that a new dataset and a new version share: the file, its format, and how to take it.
import { t } from "@lingui/core/macro";
import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { Suspense } from "react";

import { isRecord } from "@/api/client";
import type { DatasetFormat } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { DropZone } from "@/components/form/upload/DropZone";
import type { Sending } from "@/components/form/upload/UploadForm";
import { ACCEPTED_SUFFIXES, DATASET_FORMATS, FORMAT_CHOICES, FORMATS_HINT, formatOfFile, formatOfFolder, holdsTexts } from "@/domain/datasetFormat";
import { NO_TARGETS } from "@/domain/remedies";
import { DEFAULT_TEXT, textFields, type TextValues } from "@/features/datasets/upload/textValues";
import { lazyComponent } from "@/lib/chunk";

const ImageSizeField = lazyComponent(async () => (await import("./ImageSizeField")).ImageSizeField);
const AudioFields = lazyComponent(async () => (await import("./AudioFields")).AudioFields);
const TextFields = lazyComponent(async () => (await import("./TextFields")).TextFields);

export interface FileValues {
  file: File | null;
  format: DatasetFormat | "";
  target: string;
  lacksTargets: boolean;
  imageSize: number | string;
  sampleRate: number | string;
  clipS: number | string;
  text: TextValues;
}

export const NO_FILE: FileValues = { file: null, format: "", target: "", lacksTargets: false, imageSize: "", sampleRate: "", clipS: "", text: DEFAULT_TEXT };

/** What an earlier version was uploaded with, most likely the next one's too. */
export function valuesOf(options: unknown): FileValues {
  const given = isRecord(options) ? options : {};
  const word = (name: string) => (typeof given[name] === "string" ? given[name] : "");
  const count = (name: string) => (typeof given[name] === "number" ? given[name] : "");
  return {
    ...NO_FILE,
    target: word("target"),
    lacksTargets: given.targets === "none",
    imageSize: count("image_size"),
    sampleRate: count("sample_rate"),
    clipS: count("clip_s"),
    text: {
      tokenizer: word("tokenizer"),
      vocabulary_size: count("vocabulary_size"),
      context_length: count("context_length"),
      documents: word("documents"),
      text_column: word("text_column"),
    },
  };
}

/** What of the values to send with a file: a target only of tables, tokens only of texts. */
export function fileFields(values: FileValues) {
  return { file: values.file ?? undefined, ...readingFields(values, values.file?.name) };
}

/** How a file of that name is to be read; what is empty is automatic. */
export function readingFields({ format, target, lacksTargets, imageSize, sampleRate, clipS, text }: FileValues, filename: string | undefined) {
  const taken = formatOf(filename, format);
  const options = taken && DATASET_FORMATS[taken];
  const isToPredictOn = lacksTargets && options?.mayLackTargets === true;
  return {
    format,
    target: options?.hasTargetColumn && !isToPredictOn ? target.trim() : "",
    targets: isToPredictOn ? "none" : "",
    image_size: options?.isOfImages ? String(imageSize) : "",
    sample_rate: options?.isOfAudio ? String(sampleRate) : "",
    clip_s: options?.isOfAudio ? String(clipS) : "",
    ...textFields(options?.isTokenized ? text : DEFAULT_TEXT, options?.isOfLines === true),
  };
}

function formatOf(filename: string | undefined, format: DatasetFormat | ""): DatasetFormat | undefined {
  if (format !== "") return format;
  return filename === undefined ? undefined : formatOfFile(filename);
}

/** By what a file holds, where its name does not say. */
const GUESSED: readonly (DatasetFormat | "")[] = ["text_lines", "webdataset", "audio_folder", "files"];

/** names: the paths in a folder. */
async function guessed(file: File, names: readonly string[] | undefined): Promise<DatasetFormat | undefined> {
  if (names !== undefined) return formatOfFolder(names);
  return (await holdsTexts(file)) ? "text_lines" : undefined;
}

interface Props extends Sending {
  values: FileValues;
  onChange: (values: FileValues) => void;
}

export function FileFields(props: Props) {
  const { values, onChange, isDisabled, problem } = props;
  async function take(file: File | null, names?: readonly string[]) {
    const guess = file ? await guessed(file, names) : undefined;
    onChange({ ...values, file, format: guess ?? (GUESSED.includes(values.format) ? "" : values.format) });
  }
  return (
    <>
      <DropZone
        label={t`Data file`}
        hint={FORMATS_HINT}
        accept={values.format === "files" ? "" : ACCEPTED_SUFFIXES}
        file={values.file}
        onFile={(file, names) => void take(file, names)}
        takesFolders
        isDisabled={isDisabled}
        error={problem?.of("file")}
      />
      <ReadingFields {...props} filename={values.file?.name} />
    </>
  );
}

/** How the file is to be read, wherever it comes from. */
export function ReadingFields({ values, onChange, isDisabled, problem, filename }: Props & { filename?: string | undefined }) {
  const guess = filename === undefined ? undefined : formatOfFile(filename);
  const taken = formatOf(filename, values.format);
  const options = taken && DATASET_FORMATS[taken];
  return (
    <>
      <NativeSelect
        label={t`Format`}
        value={values.format}
        disabled={isDisabled}
        onChange={(event) => onChange({ ...values, format: event.currentTarget.value as DatasetFormat | "" })}
        data={[
          { value: "", label: guess ? t`Automatic: ${DATASET_FORMATS[guess].label}` : t`Automatic: by the file` },
          ...FORMAT_CHOICES,
        ]}
        error={problem?.of("format")}
      />
      {options?.mayLackTargets && (
        <Checkbox
          label={NO_TARGETS}
          description={t`Only to predict on: a table without the column, arrays without y, images or audio in no folders.`}
          checked={values.lacksTargets}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...values, lacksTargets: event.currentTarget.checked })}
          error={problem?.of("targets")}
        />
      )}
      {options?.hasTargetColumn && !values.lacksTargets && (
        <TextInput
          label={options.target?.label ?? t`Target column`}
          description={
            options.target?.description ?? t`The column to predict. Left empty: the one called target, label, class or y; of a table without such a column you choose it after the upload.`
          }
          value={values.target}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...values, target: event.currentTarget.value })}
          error={problem?.of("target")}
        />
      )}
      <Suspense fallback={<Loading label={t`Loading the options`} />}>
        {options?.isOfImages && (
          <ImageSizeField
            value={values.imageSize}
            onChange={(imageSize) => onChange({ ...values, imageSize })}
            isDisabled={isDisabled}
            problem={problem}
          />
        )}
        {options?.isOfAudio && (
          <AudioFields
            sampleRate={values.sampleRate}
            clipS={values.clipS}
            onChange={(part) => onChange({ ...values, ...part })}
            isDisabled={isDisabled}
            problem={problem}
          />
        )}
        {options?.isTokenized && (
          <TextFields
            values={values.text}
            onChange={(part) => onChange({ ...values, text: { ...values.text, ...part } })}
            isOfLines={options.isOfLines === true}
            isDisabled={isDisabled}
            problem={problem}
          />
        )}
      </Suspense>
    </>
  );
}
