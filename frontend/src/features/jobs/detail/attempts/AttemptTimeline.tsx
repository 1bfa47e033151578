// SPDX-License-Identifier: Apache-2.0
// The job's attempts over wall time, as bars and as text.
import { t } from "@lingui/core/macro";
import { Group, Stack, Text } from "@mantine/core";

import type { Attempt, JobDetail } from "@/api/types";
import { FigureCard } from "@/components/chart/figure/FigureCard";
import { FAILURE_CAUSES } from "@/domain/failureCause";
import { isOver } from "@/domain/states/jobState";
import { modeLabel } from "@/domain/mode";
import { humanise, sizeOf } from "@/features/jobs/format";
import { clock, duration, useNow } from "@/lib/time";

import { PHASES } from "./phases";
import { type Phase, type Row, type Timeline, csvOfAttempts, timelineOf } from "./timeline";

import classes from "./AttemptTimeline.module.css";

export function AttemptTimeline({ job }: { job: JobDetail }) {
  const now = useNow(isOver(job) ? 3600 : 5);
  const timeline = timelineOf(job, now);
  return (
    <FigureCard title={t`Attempts`} of={job.name} csv={() => csvOfAttempts(timeline)}>
      <Stack gap="sm">
        <Group gap="md" aria-hidden="true">
          {Object.entries(PHASES).map(([phase, label]) => (
            <Text key={phase} size="xs" c="dimmed">
              <span className={`${classes.span} ${classes.swatch}`} data-phase={phase} />
              {label}
            </Text>
          ))}
        </Group>
        <Stack gap="sm" component="ol" className={classes.list} aria-label={t`Attempts`}>
          {timeline.rows.map((row) => (
            <li key={row.attempt?.id ?? "waiting"}>
              <Group justify="space-between" gap="xs" mb={2}>
                <Text size="sm">{row.attempt === null ? t`Pending` : nameOf(row.attempt)}</Text>
                <Text size="xs" c="dimmed">
                  {row.spans.map(({ phase, from_ms, to_ms }) => spanText(phase, to_ms - from_ms)).join(" · ")}
                </Text>
              </Group>
              <Bars row={row} timeline={timeline} />
              {row.attempt !== null && <Ending attempt={row.attempt} />}
            </li>
          ))}
        </Stack>
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {clock(new Date(timeline.from_ms).toISOString())}
          </Text>
          <Text size="xs" c="dimmed">
            {isOver(job) ? clock(new Date(timeline.to_ms).toISOString()) : t`now`}
          </Text>
        </Group>
      </Stack>
    </FigureCard>
  );
}

function Bars({ row, timeline }: { row: Row; timeline: Timeline }) {
  const whole = timeline.to_ms - timeline.from_ms;
  const share = (ms: number) => `${(100 * ms) / whole}%`;
  return (
    <div className={classes.track} aria-hidden="true">
      {row.spans.map(({ phase, from_ms, to_ms }) => (
        <span
          key={phase}
          className={classes.span}
          data-phase={phase}
          style={{ insetInlineStart: share(from_ms - timeline.from_ms), width: share(to_ms - from_ms) }}
        />
      ))}
    </div>
  );
}

function Ending({ attempt }: { attempt: Attempt }) {
  const parts = [];
  if (attempt.outcome !== "") parts.push(humanise(attempt.outcome));
  if (attempt.cause !== "") parts.push(FAILURE_CAUSES[attempt.cause]);
  if (attempt.message !== "") parts.push(attempt.message);
  if (parts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" mt={2} style={{ overflowWrap: "anywhere" }}>
      {parts.join(" · ")}
    </Text>
  );
}

function nameOf(attempt: Attempt): string {
  const steps = t`steps ${attempt.first_step}–${Math.max(attempt.first_step, attempt.last_step)}`;
  return `#${attempt.number} · ${modeLabel(attempt.mode)} · ${sizeOf(attempt)} · ${steps}`;
}

function spanText(phase: Phase, ms: number): string {
  return `${PHASES[phase].toLowerCase()} ${duration(ms / 1000)}`;
}
