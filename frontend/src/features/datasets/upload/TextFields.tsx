// SPDX-License-Identifier: Apache-2.0
// The inputs of how a text becomes tokens and examples; all may stay empty. Loaded when a text is chosen.
import { t } from "@lingui/core/macro";
import { NativeSelect, NumberInput, SimpleGrid, TextInput } from "@mantine/core";

import type { Sending } from "@/components/form/upload/UploadForm";
import { DOCUMENTS, TOKENIZERS } from "@/features/datasets/upload/textOptions";
import type { TextValues } from "@/features/datasets/upload/textValues";

interface Props extends Sending {
  values: TextValues;
  onChange: (part: Partial<TextValues>) => void;
  isOfLines: boolean;
}

export function TextFields({ values, onChange, isOfLines, isDisabled, problem }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NativeSelect
        label={t`Tokens`}
        description={t`What the model reads and predicts one by one`}
        value={values.tokenizer}
        disabled={isDisabled}
        onChange={(event) => onChange({ tokenizer: event.currentTarget.value })}
        data={TOKENIZERS}
        error={problem?.of("tokenizer")}
      />
      {values.tokenizer !== "byte" && (
        <NumberInput
          label={t`Vocabulary`}
          description={t`Different tokens at most, 300 to 32,768`}
          placeholder={t`By the length of the text`}
          min={300}
          max={32_768}
          allowDecimal={false}
          value={values.vocabulary_size}
          disabled={isDisabled}
          onChange={(vocabulary_size) => onChange({ vocabulary_size })}
          error={problem?.of("vocabulary_size")}
        />
      )}
      <NumberInput
        label={t`Length of an example`}
        description={t`How many tokens the model sees at once, 8 to 8,192`}
        placeholder={isOfLines ? t`128; 64 without labels` : "64"}
        min={8}
        max={8192}
        allowDecimal={false}
        value={values.context_length}
        disabled={isDisabled}
        onChange={(context_length) => onChange({ context_length })}
        error={problem?.of("context_length")}
      />
      {isOfLines ? (
        <TextInput
          label={t`Field of the text`}
          description={t`Its name in each line`}
          placeholder={t`text`}
          value={values.text_column}
          disabled={isDisabled}
          onChange={(event) => onChange({ text_column: event.currentTarget.value })}
          error={problem?.of("text_column")}
        />
      ) : (
        <NativeSelect
          label={t`Documents`}
          description={t`A token of its own stands between two`}
          value={values.documents}
          disabled={isDisabled}
          onChange={(event) => onChange({ documents: event.currentTarget.value })}
          data={DOCUMENTS}
          error={problem?.of("documents")}
        />
      )}
    </SimpleGrid>
  );
}
