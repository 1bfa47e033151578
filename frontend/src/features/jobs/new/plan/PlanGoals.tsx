// SPDX-License-Identifier: Apache-2.0
// Other sizes by what one wants of the job: early, cheap, or in time at the least cost; one click takes a size.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";

import type { JobPreview } from "@/api/types";
import { number, significant } from "@/lib/quantities";
import { duration } from "@/lib/time";

type Alternative = JobPreview["alternatives"][number];

interface Props {
  /** undefined: it is being made. */
  preview: JobPreview | undefined;
  /** By when it shall have finished, as the input has it and as the API takes it. */
  by: string;
  finishBy: string | undefined;
  onBy: (by: string) => void;
  error: string | undefined;
  size: number | null;
  onSize: (size: number | null) => void;
}

export function PlanGoals({ preview, by, finishBy, onBy, error, size, onSize }: Props) {
  const alternatives = preview?.alternatives ?? [];
  return (
    <Stack gap="xs" mt="sm">
      {alternatives.length > 0 && (
        <ul aria-label={t`Alternatives`} style={{ margin: 0, padding: 0, listStyle: "none" }}>
          {alternatives.map((alternative) => (
            <Group key={alternative.goal} component="li" justify="space-between" gap="xs" wrap="nowrap" mb={4}>
              <Text size="sm">{alternativeText(alternative)}</Text>
              <Button size="compact-xs" variant="light" style={{ flexShrink: 0 }} onClick={() => onSize(alternative.run.n_workers)}>
                {t`Use ${plural(alternative.run.n_workers, { one: "# GPU", other: "# GPUs" })}`}
              </Button>
            </Group>
          ))}
        </ul>
      )}
      {size !== null && (
        <Group gap="xs">
          <Text size="sm">{t`It is fixed at ${plural(size, { one: "# GPU", other: "# GPUs" })}.`}</Text>
          <Button size="compact-xs" variant="subtle" onClick={() => onSize(null)}>
            {t`Let MLHub choose the size`}
          </Button>
        </Group>
      )}
      <TextInput
        type="datetime-local"
        size="xs"
        maw={260}
        label={t`Finished by`}
        value={by}
        onChange={(event) => onBy(event.currentTarget.value)}
        error={error}
      />
      {preview && finishBy !== undefined && error === undefined && <Text size="sm">{inTimeText(preview, finishBy)}</Text>}
    </Stack>
  );
}

const GOALS: Record<Alternative["goal"], string> = {
  earliest: t`Finishes first`,
  cheapest: t`Costs least`,
  by_date: t`In time at the least cost`,
};

/** "Finishes first: 8 GPUs, 5 min 00 s earlier, 0.2 GPU-hours more." */
function alternativeText({ goal, run, finish_delta_s: finish, gpu_hours_delta: hours }: Alternative): string {
  const difference = duration(Math.abs(finish));
  const when = finish < 0 ? t`${difference} earlier` : t`${difference} later`;
  const amount = number(significant(Math.abs(hours), 2));
  const cost = hours < 0 ? t`${amount} GPU-hours less` : t`${amount} GPU-hours more`;
  const wish = GOALS[goal];
  const sizeText = plural(run.n_workers, { one: "# GPU", other: "# GPUs" });
  return t`${wish}: ${sizeText}, ${when}, ${cost}.`;
}

/** The plan against the time that it was asked for. */
function inTimeText({ plan, alternatives }: JobPreview, finishBy: string): string {
  const latest = plan.finish_p90_at ?? plan.finish_at;
  if (latest === null) return t`Whether it is in time is not known.`;
  if (Date.parse(latest) > Date.parse(finishBy)) {
    return alternatives.some(({ goal }) => goal === "by_date")
      ? t`As it is, it may be late.`
      : t`It may be late, and so may every other size that was tried.`;
  }
  return alternatives.some(({ goal }) => goal === "by_date")
    ? t`As it is, it is in time in nine cases of ten; less would do.`
    : t`As it is, it is in time in nine cases of ten, at the least cost of the sizes that were tried.`;
}
