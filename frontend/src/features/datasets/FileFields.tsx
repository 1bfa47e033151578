// The part that a new dataset and a new version share: the file, its format and its target column.
import { NativeSelect, TextInput } from "@mantine/core";

import type { DatasetFormat } from "@/api/types";
import { DropZone } from "@/components/DropZone";
import type { Sending } from "@/components/UploadForm";
import { ACCEPT, FORMATS, guessed, hasTarget } from "@/features/datasets/formats";

export interface FileValues {
  file: File | null;
  format: DatasetFormat | "";
  target: string;
}

export const NO_FILE: FileValues = { file: null, format: "", target: "" };

/** What of the values to send: a target only of tables. */
export function fileFields({ file, format, target }: FileValues) {
  return { file: file ?? undefined, format, target: asksForTarget(file, format) ? target.trim() : "" };
}

function asksForTarget(file: File | null, format: DatasetFormat | ""): boolean {
  return hasTarget(format === "" ? file !== null ? guessed(file.name) : undefined : format);
}

interface Props extends Sending {
  values: FileValues;
  onChange: (values: FileValues) => void;
}

export function FileFields({ values, onChange, isDisabled, problem }: Props) {
  const guess = values.file === null ? undefined : guessed(values.file.name);
  return (
    <>
      <DropZone
        label="Data file"
        hint="NPZ, CSV, Parquet, plain text, or a zip with one folder of images for each class."
        accept={ACCEPT}
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
          { value: "", label: guess ? `Automatic: ${FORMATS[guess]}` : "Automatic: by the file" },
          ...Object.entries(FORMATS).map(([value, label]) => ({ value, label })),
        ]}
        error={problem?.of("format")}
      />
      {asksForTarget(values.file, values.format) && (
        <TextInput
          label="Target column"
          description="The column to predict. Left empty: the one called target, label, class or y."
          value={values.target}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...values, target: event.currentTarget.value })}
          error={problem?.of("target")}
        />
      )}
    </>
  );
}
