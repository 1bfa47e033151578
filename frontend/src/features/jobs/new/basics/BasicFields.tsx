// SPDX-License-Identifier: Apache-2.0
// What each job needs: data and a model, and for how long it trains.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group, NumberInput, TextInput } from "@mantine/core";

import type { Model } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { ModelSelect } from "@/components/form/choice/ModelSelect";

import { NO_DATASET, pinOf } from "../draft";
import { type JobFields, isTrainable } from "./useNewJob";

const EXAMPLE = "--lr 0.1"; // of a command line, in any language

/** Of a field with its longest placeholder; where two are wider than the form, they stand below each other. */
const WHOLE_PLACEHOLDER_PX = 220;

interface ChoiceProps extends JobFields {
  /** Of those that are there, "": none. */
  dataset: string;
  model: string;
  /** Whether the model is a script, which needs no dataset. */
  mayDoWithout: boolean;
  isNothingReady: boolean;
  isModelOffered: (model: Model) => boolean;
  /** Whether the model is what MLHub takes for such data, since none was chosen. */
  isSuggested: boolean;
}

export function ChoiceFields(props: ChoiceProps) {
  const { draft, dataset, model, mayDoWithout, isNothingReady, isModelOffered, isSuggested, errors, onChange } = props;
  const ofVersion = t`Of the version that the job file names, until you choose another.`;
  const suggested = t`The built-in model for such data. You can choose another one, or upload your own.`;
  return (
    <>
      <DatasetSelect
        label={t`Dataset`}
        placeholder={mayDoWithout ? t`No dataset` : t`Choose a dataset`}
        required={!mayDoWithout}
        isOffered={isTrainable}
        extra={mayDoWithout ? [{ value: NO_DATASET, label: t`No dataset` }] : []}
        value={dataset}
        onChange={(id) => onChange({ dataset: id })}
        error={errors.dataset}
        disabled={isNothingReady && !mayDoWithout}
        description={pinOf(draft, "dataset") ? ofVersion : mayDoWithout ? t`A script may do without one.` : isNothingReady ? <NothingReady /> : undefined}
      />
      <ModelSelect
        label={t`Model`}
        placeholder={t`Choose a model`}
        required
        isOffered={isModelOffered}
        value={model}
        onChange={(id) => onChange({ model: id })}
        error={errors.model}
        description={pinOf(draft, "model") ? ofVersion : isSuggested && suggested}
      />
    </>
  );
}

/** Of a script: as it would be called in a terminal. */
export function ArgumentsField({ draft, errors, onChange }: JobFields) {
  return (
    <TextInput
      label={t`Arguments`}
      description={t`What its command line gets, as it is`}
      placeholder={EXAMPLE}
      inputWrapperOrder={["label", "input", "description", "error"]}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
      value={draft.arguments}
      onChange={(event) => onChange({ arguments: event.currentTarget.value })}
      error={errors.arguments}
    />
  );
}

/** isScript: which may say itself how long it trains. */
export function LengthFields({ draft, errors, onChange, isScript }: JobFields & { isScript: boolean }) {
  const byDefault = isScript ? t`As the script says` : t`By the size of the dataset`;
  return (
    <Group grow align="start" preventGrowOverflow={false}>
      <NumberInput
        label={t`Epochs`}
        miw={WHOLE_PLACEHOLDER_PX}
        description={t`Passes over the examples`}
        placeholder={byDefault}
        min={1}
        inputWrapperOrder={["label", "input", "description", "error"]}
        allowDecimal={false}
        value={draft.epochs}
        onChange={(epochs) => onChange({ epochs })}
        error={errors.epochs}
      />
      <NumberInput
        label={t`Batch size`}
        miw={WHOLE_PLACEHOLDER_PX}
        description={t`Over all workers together`}
        placeholder={byDefault}
        min={1}
        allowDecimal={false}
        inputWrapperOrder={["label", "input", "description", "error"]}
        value={draft.batch_size}
        onChange={(batch_size) => onChange({ batch_size })}
        error={errors.batch_size}
      />
    </Group>
  );
}

function NothingReady() {
  return (
    <>
      <Trans>
        No dataset is ready yet.{" "}
        <TextLink to="/datasets">Upload one</TextLink>
        , or wait until it has been inspected.
      </Trans>
    </>
  );
}
