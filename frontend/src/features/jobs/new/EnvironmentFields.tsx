// SPDX-License-Identifier: Apache-2.0
// Environment variables, secrets and the container image of the new job's pods.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { MultiSelect, SimpleGrid, Text, TextInput, Textarea } from "@mantine/core";

import { secretChoices } from "@/api/choices";
import { TextLink } from "@/components/display/TextLink";
import { useChoices } from "@/components/form/choice/useChoices";

import type { Draft, Errors } from "./draft";

interface EnvironmentFieldsProps {
  draft: Draft;
  errors: Errors;
  /** Whose secrets may be chosen; undefined until data or a model of a project is chosen. */
  projectId: string | undefined;
  onChange: (part: Partial<Draft>) => void;
}

export function EnvironmentFields({ draft, errors, projectId, onChange }: EnvironmentFieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <Textarea
        label={t`Environment variables`}
        description={t`NAME=value, one a line`}
        placeholder={t`TOKENIZERS_PARALLELISM=false`}
        rows={2}
        resize="vertical"
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        value={draft.environment}
        onChange={(event) => onChange({ environment: event.currentTarget.value })}
        error={errors.environment}
      />
      <TextInput
        label={t`Container image`}
        description={t`On Kubernetes, built from MLHub's runtime image; empty: the code's, or the platform's`}
        placeholder="registry.example.org/team/train:1.4"
        spellCheck={false}
        value={draft.image}
        onChange={(event) => onChange({ image: event.currentTarget.value })}
        error={errors.image}
      />
      {projectId !== undefined && <SecretsField {...{ draft, errors, projectId, onChange }} />}
    </SimpleGrid>
  );
}

function SecretsField({ draft, errors, projectId, onChange }: EnvironmentFieldsProps & { projectId: string }) {
  const choices = useChoices(secretChoices(projectId));
  const names = choices.items.map(({ name }) => name);
  return (
    <MultiSelect
      label={t`Secrets`}
      description={
        <Text span inherit>
          <Trans>
            Of the project, as environment variables. <TextLink to={`/projects/${projectId}/secrets`}>Set one</TextLink>
          </Trans>
        </Text>
      }
      placeholder={draft.secrets.length > 0 ? undefined : names.length === 0 ? t`The project has none` : t`Choose by name`}
      searchable
      clearable
      {...choices.field}
      data={[...new Set([...names, ...draft.secrets])]}
      value={draft.secrets}
      onChange={(secrets) => onChange({ secrets })}
      error={errors.secrets}
    />
  );
}
