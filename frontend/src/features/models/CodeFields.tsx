// SPDX-License-Identifier: Apache-2.0
// The part that a new model and a new version share: the file, its kind and where it starts.
import { t } from "@lingui/core/macro";
import { NativeSelect, TextInput } from "@mantine/core";

import { DropZone } from "@/components/form/upload/DropZone";
import type { Sending } from "@/components/form/upload/UploadForm";
import { ACCEPT, UPLOADED_KINDS, type UploadedKind } from "@/features/models/kinds";

export interface CodeValues {
  file: File | null;
  kind: UploadedKind | "";
  entry: string;
}

export const NO_CODE: CodeValues = { file: null, kind: "", entry: "" };

/** What of the values to send: a single file is its own entry. */
export function codeFields({ file, kind, entry }: CodeValues) {
  return { file: file ?? undefined, kind: kind || undefined, entry: isSingleFile(file) || !kind ? "" : entry.trim() };
}

function isSingleFile(file: File | null): boolean {
  return file !== null && !file.name.toLowerCase().endsWith(".zip");
}

interface Props extends Sending {
  values: CodeValues;
  onChange: (values: CodeValues) => void;
}

export function CodeFields({ values, onChange, isDisabled, problem }: Props) {
  const isScript = values.kind === "script";
  return (
    <>
      <DropZone
        label={t`Code file`}
        hint={t`A zip of a Python package, a single Python file, or a model made elsewhere: ONNX, Keras, Torch7, or a zip of Caffe’s two files.`}
        accept={ACCEPT}
        file={values.file}
        onFile={(file) => onChange({ ...values, file })}
        takesFolders
        isDisabled={isDisabled}
        error={problem?.of("file")}
      />
      <NativeSelect
        label={t`Kind`}
        description={UPLOADED_KINDS[values.kind].description}
        value={values.kind}
        disabled={isDisabled}
        onChange={(event) => onChange({ ...values, kind: event.currentTarget.value as CodeValues["kind"] })}
        data={Object.entries(UPLOADED_KINDS).map(([value, { label }]) => ({ value, label }))}
        error={problem?.of("kind")}
      />
      {!isSingleFile(values.file) && values.kind && (
        <TextInput
          label={t`Entry`}
          description={isScript ? t`The path of the script in the zip.` : t`The module in the zip; “model” unless given.`}
          placeholder={isScript ? "train.py" : t`model`}
          value={values.entry}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...values, entry: event.currentTarget.value })}
          error={problem?.of("entry")}
        />
      )}
    </>
  );
}
