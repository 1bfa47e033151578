// SPDX-License-Identifier: Apache-2.0
// Where a new study searches, by which algorithm, and how far it goes.
import { t } from "@lingui/core/macro";
import { Group, NativeSelect, NumberInput, Textarea, TextInput } from "@mantine/core";

import type { StudyFields } from "./useNewStudy";
import { WholeInput } from "./WholeInput";

const ALGORITHMS = [
  { value: "asha", label: t`ASHA: stops the weak trials early` },
  { value: "tpe", label: t`TPE: learns from earlier trials where to look` },
  { value: "random", label: t`Random points` },
  { value: "grid", label: t`Grid: every combination` },
] as const;

const DISTRIBUTIONS = "{log_uniform: [low, high]}, {uniform: [low, high]}, {int: [low, high]}, {choice: [a, b]}";

/** The values to try as YAML, the metric, and the algorithm. */
export function SearchFields({ draft, errorAt, onChange }: StudyFields) {
  return (
    <>
      <Textarea
        label={t`Search space (YAML)`}
        description={t`Of each hyperparameter: ${DISTRIBUTIONS}.`}
        rows={6}
        required
        styles={{ input: { fontFamily: "monospace" } }}
        value={draft.space}
        error={errorAt("space")}
        onChange={(event) => onChange({ space: event.currentTarget.value })}
      />
      <Group grow align="flex-start" preventGrowOverflow={false}>
        <TextInput
          label={t`Metric`}
          miw={200}
          required
          value={draft.metric}
          error={errorAt("metric")}
          onChange={(event) => onChange({ metric: event.currentTarget.value })}
        />
        <NativeSelect
          label={t`Better is`}
          miw={200}
          data={[
            { value: "maximize", label: t`Larger` },
            { value: "minimize", label: t`Smaller` },
          ]}
          value={draft.direction}
          onChange={(event) => onChange({ direction: event.currentTarget.value })}
        />
        <NativeSelect
          label={t`Algorithm`}
          miw={200}
          data={[...ALGORITHMS]}
          value={draft.algorithm}
          onChange={(event) => onChange({ algorithm: event.currentTarget.value })}
        />
      </Group>
    </>
  );
}

export function LimitFields({ draft, errorAt, onChange }: StudyFields) {
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <WholeInput label={t`Trials at most`} value={draft.max_trials} error={errorAt("max_trials")} onChange={(max_trials) => onChange({ max_trials })} />
      <WholeInput label={t`At the same time`} value={draft.max_parallel} error={errorAt("max_parallel")} onChange={(max_parallel) => onChange({ max_parallel })} />
      <NumberInput
        label={t`GPU-hours at most`}
        miw={150}
        placeholder={t`no limit`}
        min={0}
        value={draft.max_gpu_hours}
        error={errorAt("max_gpu_hours")}
        onChange={(max_gpu_hours) => onChange({ max_gpu_hours })}
      />
    </Group>
  );
}
