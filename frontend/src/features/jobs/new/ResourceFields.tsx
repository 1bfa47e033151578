// SPDX-License-Identifier: Apache-2.0
// What each pod of the new job gets, and when the platform ends it: all optional.
import { t } from "@lingui/core/macro";
import { NumberInput, SimpleGrid, TextInput } from "@mantine/core";

import { POD_SETTINGS, podSettings } from "@/domain/pods/podSetting";

import type { Draft, Errors } from "./draft";

interface ResourceFieldsProps {
  draft: Draft;
  errors: Errors;
  onChange: (part: Partial<Draft>) => void;
}

export function ResourceFields({ draft, errors, onChange }: ResourceFieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      {podSettings.map((name) => {
        const { label, about, byDefault, isWhole, min, max } = POD_SETTINGS[name];
        return (
          <NumberInput
            key={name}
            label={label}
            description={about}
            placeholder={byDefault}
            inputWrapperOrder={["label", "input", "description", "error"]}
            min={min}
            max={max}
            clampBehavior="none"
            allowDecimal={!isWhole}
            value={draft[name]}
            onChange={(value) => onChange({ [name]: value })}
            error={errors[name]}
          />
        );
      })}
      <TextInput
        label={t`GPU types`}
        description={t`Names as on the Cluster page, separated by commas`}
        placeholder={t`Any`}
        inputWrapperOrder={["label", "input", "description", "error"]}
        value={draft.gpu_types}
        onChange={(event) => onChange({ gpu_types: event.currentTarget.value })}
        error={errors.gpu_types}
      />
    </SimpleGrid>
  );
}
