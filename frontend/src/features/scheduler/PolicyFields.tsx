// SPDX-License-Identifier: Apache-2.0
// The choice of a policy and its parameters, each with its default as the placeholder.
import { t } from "@lingui/core/macro";
import { NativeSelect, SimpleGrid, Stack, TextInput } from "@mantine/core";

import type { SchedulerSettings } from "@/api/types";

interface PolicyFieldsProps {
  label: string;
  names: string[];
  policy: string;
  parameters: Record<string, string>;
  defaults: [name: string, value: unknown][];
  errorOf: (field: string) => string | undefined;
  onPolicy: (policy: string) => void;
  onParameters: (parameters: Record<string, string>) => void;
}

export function PolicyFields(props: PolicyFieldsProps) {
  const { label, names, policy, parameters, defaults, errorOf, onPolicy, onParameters } = props;
  return (
    <Stack gap="xs">
      <NativeSelect
        label={label}
        maw={320}
        value={policy}
        onChange={(event) => onPolicy(event.currentTarget.value)}
        data={names.map((name) => ({ value: name, label: name === "" ? t`none` : name }))}
        error={errorOf("policy")}
      />
      {defaults.length > 0 && (
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
          {defaults.map(([name, value]) => (
            <TextInput
              key={name}
              label={name}
              aria-label={`${label}: ${name}`}
              placeholder={JSON.stringify(value)}
              value={parameters[name] ?? ""}
              onChange={(event) => onParameters({ ...parameters, [name]: event.currentTarget.value })}
              error={errorOf(`parameters.${name}`)}
            />
          ))}
        </SimpleGrid>
      )}
    </Stack>
  );
}

export function defaultsOf(settings: SchedulerSettings, policy: string): [string, unknown][] {
  return Object.entries(settings.known.find(({ name }) => name === policy)?.parameters ?? {});
}
