// SPDX-License-Identifier: Apache-2.0
// The new job's advanced settings; all may stay empty.
import { t } from "@lingui/core/macro";
import { NativeSelect, NumberInput, SimpleGrid, Stack, Text, TextInput, Textarea, Title } from "@mantine/core";
import type { ReactNode } from "react";

import type { Mode } from "@/api/types";
import { MODES } from "@/domain/mode";

import { BatchRangeField } from "./BatchRangeField";
import { EnvironmentFields } from "./EnvironmentFields";
import { FurtherDatasetFields } from "./FurtherDatasetFields";
import { ResourceFields } from "./ResourceFields";
import { StrategyFields } from "./StrategyFields";
import type { Draft, Errors } from "./draft";
import { hintsOf } from "./hints";

const MODE_CHOICES = Object.entries(MODES).map(([value, label]) => ({
  value,
  label: value === "auto" ? t`${label}: MLHub chooses` : label,
}));

interface AdvancedFieldsProps {
  draft: Draft;
  errors: Errors;
  projectId: string | undefined;
  onChange: (part: Partial<Draft>) => void;
}

export function AdvancedFields({ draft, errors, projectId, onChange }: AdvancedFieldsProps) {
  return (
    <Stack pt="xs" gap="lg">
      <Part title={t`Name and size`}>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label={t`Name`}
            placeholder={t`Named after its data and model`}
            value={draft.name}
            onChange={(event) => onChange({ name: event.currentTarget.value })}
            error={errors.name}
          />
          <NativeSelect
            label={t`Mode`}
            value={draft.mode}
            onChange={(event) => onChange({ mode: event.currentTarget.value as Mode })}
            data={MODE_CHOICES}
            error={errors.mode}
          />
          <NumberInput
            label={t`Fewest workers`}
            placeholder="1"
            min={1}
            allowDecimal={false}
            value={draft.min_workers}
            onChange={(min_workers) => onChange({ min_workers })}
            error={errors.min_workers}
          />
          <NumberInput
            label={t`Most workers`}
            placeholder={t`As many as speed it up`}
            min={1}
            allowDecimal={false}
            value={draft.max_workers}
            onChange={(max_workers) => onChange({ max_workers })}
            error={errors.max_workers}
          />
          <BatchRangeField draft={draft} onChange={onChange} />
        </SimpleGrid>
      </Part>
      <Part title={t`Training`}>
        <FurtherDatasetFields draft={draft} error={errors.datasets} onChange={onChange} />
        <StrategyFields draft={draft} errors={errors} onChange={onChange} />
        <Textarea
          label={t`Hyperparameters`}
          description={t`A JSON object: parameters of the training loop (learning_rate, lr_schedule, patience, ...) and of the model`}
          placeholder='{"learning_rate": 0.01}'
          rows={3}
          resize="vertical"
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          value={draft.hyperparameters}
          onChange={(event) => onChange({ hyperparameters: event.currentTarget.value })}
          error={errors.hyperparameters}
        />
        {hintsOf(draft).map((hint) => (
          <Text key={hint} size="sm" c="dimmed" role="note">
            {hint}
          </Text>
        ))}
      </Part>
      <Part title={t`Resources and limits`}>
        <ResourceFields draft={draft} errors={errors} onChange={onChange} />
      </Part>
      <Part title={t`Environment`}>
        <EnvironmentFields draft={draft} errors={errors} projectId={projectId} onChange={onChange} />
      </Part>
      <Part title={t`Goal and order`}>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label={t`Target metric`}
            placeholder="eval/accuracy"
            description={t`Its value on held-out examples is what counts`}
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={draft.target_metric}
            onChange={(event) => onChange({ target_metric: event.currentTarget.value })}
            error={errors.target_metric}
          />
          <NumberInput
            label={t`Target value`}
            placeholder="0.95"
            description={t`What it should reach`}
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={draft.target_value}
            onChange={(target_value) => onChange({ target_value })}
            error={errors.target_value}
          />
          <NumberInput
            label={t`Seed`}
            placeholder="0"
            allowDecimal={false}
            value={draft.seed}
            onChange={(seed) => onChange({ seed })}
            error={errors.seed}
          />
          <NumberInput
            label={t`Priority`}
            description={t`Higher goes first`}
            placeholder="0"
            allowDecimal={false}
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={draft.priority}
            onChange={(priority) => onChange({ priority })}
            error={errors.priority}
          />
        </SimpleGrid>
      </Part>
    </Stack>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section" gap="sm" aria-label={title}>
      <Title order={2} size="h6">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
