// SPDX-License-Identifier: Apache-2.0
// The fields of one row, as the model takes it: columns, an image, a clip of audio, a text, or numbers.
import { t } from "@lingui/core/macro";
import { NativeSelect, SimpleGrid, Stack, Text, TextInput, Textarea } from "@mantine/core";
import type { ChangeEvent } from "react";

import { DropZone } from "@/components/form/upload/DropZone";

import { type ModelInputs, OTHER, type RowValues, choicesOf, valueOf } from "./inputs";

export const NO_VALUES: RowValues = { columns: {}, others: {}, image: null, audio: null, text: "" };

interface Props {
  inputs: ModelInputs;
  values: RowValues;
  onChange: (values: RowValues) => void;
  errorAt: (field: string) => string | undefined;
}

export function RowFields({ inputs, values, onChange, errorAt }: Props) {
  if (inputs.kind === "none") {
    return <Text size="sm">{t`The model takes arrays of the shape ${inputs.shape}: send them to the API.`}</Text>;
  }
  if (inputs.kind === "image") {
    return (
      <DropZone
        label={t`Image`}
        hint={t`A PNG, JPEG or WebP file; it is resized to what the model was trained on.`}
        accept="image/*"
        file={values.image}
        onFile={(image) => onChange({ ...values, image })}
        error={errorAt("image")}
      />
    );
  }
  if (inputs.kind === "audio") {
    return (
      <DropZone
        label={t`Audio`}
        hint={t`A WAV, FLAC, Ogg or MP3 file; it is converted and cut to what the model was trained on.`}
        accept="audio/*"
        file={values.audio}
        onFile={(audio) => onChange({ ...values, audio })}
        error={errorAt("audio")}
      />
    );
  }
  if (inputs.kind !== "columns") {
    const isText = inputs.kind === "text";
    return (
      <Textarea
        label={isText ? t`Text` : t`${inputs.n} numbers`}
        description={isText ? (inputs.isContinued ? t`The model continues it.` : t`The model names its class.`) : t`Separated by commas or spaces.`}
        rows={3}
        resize="vertical"
        value={values.text}
        onChange={({ currentTarget: { value: text } }) => onChange({ ...values, text })}
        error={errorAt(isText ? "text" : "x")}
      />
    );
  }
  const set = (name: string, value: string) => onChange({ ...values, columns: { ...values.columns, [name]: value } });
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm" style={{ alignItems: "end" }}>
      {inputs.columns.map((column) => {
        const field = {
          label: column.name,
          description: column.hint || undefined,
          value: valueOf(column, values.columns),
          onChange: ({ currentTarget: { value } }: ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>) => set(column.name, value),
          error: errorAt(column.name),
        };
        if (column.kind === "category") {
          return (
            <Stack key={column.name} gap={4}>
              <NativeSelect {...field} data={choicesOf(column)} />
              {field.value === OTHER && (
                <TextInput
                  aria-label={t`${column.name}, another category`}
                  placeholder={t`Any word; empty: missing`}
                  value={values.others[column.name] ?? ""}
                  onChange={({ currentTarget: { value } }) => onChange({ ...values, others: { ...values.others, [column.name]: value } })}
                />
              )}
            </Stack>
          );
        }
        if (column.kind === "text") return <Textarea key={column.name} {...field} rows={3} resize="vertical" style={{ gridColumn: "1 / -1" }} />;
        if (column.kind === "number") return <TextInput key={column.name} {...field} inputMode="decimal" />;
        return <TextInput key={column.name} {...field} type={column.hasTime ? "datetime-local" : "date"} step={column.hasTime ? 1 : undefined} />;
      })}
    </SimpleGrid>
  );
}
