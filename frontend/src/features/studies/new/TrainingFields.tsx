// SPDX-License-Identifier: Apache-2.0
// What the trials of a new study train, and how long.
import { t } from "@lingui/core/macro";
import { Group, NumberInput, TextInput } from "@mantine/core";

import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { ModelSelect } from "@/components/form/choice/ModelSelect";

import type { StudyFields } from "./useNewStudy";
import { WholeInput } from "./WholeInput";

/** Name, data, model and the length of a whole training. */
export function TrainingFields({ draft, isScript, errorAt, onChange }: StudyFields) {
  return (
    <>
      <TextInput
        label={t`Name`}
        required
        maxLength={80}
        value={draft.name}
        error={errorAt("name")}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Group grow align="flex-start" preventGrowOverflow={false}>
        <DatasetSelect
          label={t`Dataset`}
          miw={200}
          allowDeselect={false}
          extra={isScript ? [{ value: "", label: t`No dataset` }] : []}
          value={draft.dataset}
          error={errorAt("job.dataset")}
          onChange={(dataset) => onChange({ dataset })}
        />
        <ModelSelect
          label={t`Model`}
          miw={200}
          allowDeselect={false}
          value={draft.model}
          error={errorAt("job.model")}
          onChange={(id) => onChange({ model: id })}
        />
        <WholeInput label={t`Epochs of a whole training`} value={draft.epochs} error={errorAt("job.epochs")} onChange={(epochs) => onChange({ epochs })} />
      </Group>
      {isScript && (
        <NumberInput
          label={t`Steps of a whole training`}
          description={t`The last step that the script reports; ASHA compares trials at steps before it. Hyperparameters become options of its command line.`}
          min={2}
          allowDecimal={false}
          required={draft.algorithm === "asha"}
          value={draft.steps}
          error={errorAt("steps")}
          onChange={(steps) => onChange({ steps })}
        />
      )}
    </>
  );
}
