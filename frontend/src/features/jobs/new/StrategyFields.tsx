// SPDX-License-Identifier: Apache-2.0
// The strategy by which a job's workers keep one model: what each does, and its parameters.
import { t } from "@lingui/core/macro";
import { NativeSelect, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { STRATEGIES } from "@/domain/strategy";
import { strategiesQuery } from "@/features/jobs/queries";

import type { Draft, Errors } from "./draft";

interface StrategyFieldsProps {
  draft: Draft;
  errors: Errors;
  onChange: (part: Partial<Draft>) => void;
}

export function StrategyFields({ draft, errors, onChange }: StrategyFieldsProps) {
  const { data: strategies = [] } = useQuery(strategiesQuery);
  const named = strategies.filter(({ name }) => name !== "auto");
  const chosen = named.find(({ name }) => name === draft.strategy);
  const known = (chosen?.parameters ?? []).map(({ name, default: value }) => `"${name}": ${JSON.stringify(value)}`);
  return (
    <Stack gap="xs">
      <NativeSelect
        label={t`Strategy`}
        description={chosen?.about ?? t`How workers keep one model. MLHub chooses between all-reduce and parameter servers.`}
        value={draft.strategy}
        onChange={(event) => onChange({ strategy: event.currentTarget.value, parameters: "" })}
        data={[
          { value: "", label: t`Automatic: MLHub chooses` },
          ...named.map(({ name }) => ({ value: name, label: STRATEGIES[name] })),
        ]}
        error={errors.strategy}
      />
      {known.length > 0 && (
        <TextInput
          label={t`Parameters`}
          description={t`A JSON object; what is left out is as shown`}
          placeholder={`{${known.join(", ")}}`}
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          value={draft.parameters}
          onChange={(event) => onChange({ parameters: event.currentTarget.value })}
          error={errors.parameters}
        />
      )}
    </Stack>
  );
}
