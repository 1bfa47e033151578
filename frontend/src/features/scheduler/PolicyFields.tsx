// SPDX-License-Identifier: Apache-2.0
// The choice of a policy and its parameters in words, each with its default.
import { t } from "@lingui/core/macro";
import { NativeSelect, SimpleGrid, Stack, TextInput } from "@mantine/core";

import type { SchedulerSettings } from "@/api/types";

import { PARAMETERS, type ParameterWords, POLICIES } from "./policyWords";

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
        maw={480}
        value={policy}
        onChange={(event) => onPolicy(event.currentTarget.value)}
        data={names.map((name) => ({ value: name, label: name === "" ? t`none` : name }))}
        description={POLICIES[policy]}
        inputWrapperOrder={["label", "input", "description", "error"]}
        error={errorOf("policy")}
      />
      {defaults.length > 0 && (
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" verticalSpacing="sm">
          {defaults.map(([name, value]) => (
            <ParameterField
              key={name}
              group={label}
              name={name}
              words={PARAMETERS[policy]?.[name]}
              usual={value}
              value={parameters[name] ?? ""}
              onChange={(text) => onParameters({ ...parameters, [name]: text })}
              error={errorOf(`parameters.${name}`)}
            />
          ))}
        </SimpleGrid>
      )}
    </Stack>
  );
}

interface ParameterProps {
  group: string;
  name: string;
  words: ParameterWords | undefined;
  /** Its default. */
  usual: unknown;
  value: string;
  onChange: (text: string) => void;
  error: string | undefined;
}

/** With the name that API and command line have for it, and its bounds: no number is below 0 whose default is not. */
function ParameterField({ group, name, words, usual, value, onChange, error }: ParameterProps) {
  const bounds = typeof usual === "number" && usual >= 0 ? t`0 or more.` : "";
  const field = {
    label: words?.label ?? name,
    "aria-label": words === undefined ? `${group}: ${name}` : `${group}: ${words.label} (${name})`,
    description: words === undefined ? bounds : [words.about, bounds, `(${name})`].filter(Boolean).join(" "),
    inputWrapperOrder: ["label" as const, "input" as const, "description" as const, "error" as const],
    value,
    error,
  };
  const options = typeof usual === "boolean" ? [["true", t`Yes`], ["false", t`No`]] : words?.options?.map((one) => [one, one]);
  if (options === undefined) {
    return <TextInput {...field} placeholder={JSON.stringify(usual)} onChange={(event) => onChange(event.currentTarget.value)} />;
  }
  const named = options.map(([option = "", shown = ""]) => ({ value: option, label: shown }));
  const byDefault = named.find((one) => one.value === String(usual))?.label ?? String(usual);
  return (
    <NativeSelect
      {...field}
      data={[{ value: "", label: t`Default: ${byDefault}` }, ...named]}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function defaultsOf(settings: SchedulerSettings, policy: string): [string, unknown][] {
  return Object.entries(settings.known.find(({ name }) => name === policy)?.parameters ?? {});
}
