// SPDX-License-Identifier: Apache-2.0
// What the job measured of itself: where a step's time goes, how stale gradients were, and what it needs.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Job, Speed, WorkerStepTime } from "@/api/types";
import { FigureCard } from "@/components/chart/figure/FigureCard";
import { Facts } from "@/components/display/Facts";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { EmptyState } from "@/components/feedback/EmptyState";
import { metricFacts, metricMeanings, POD_METRICS } from "@/domain/pods/podMetric";
import { speedQuery } from "@/features/jobs/queries";
import { csvOf } from "@/lib/download";
import { percent } from "@/lib/quantities";
import { shortDuration } from "@/lib/time";

import { RefusedMeasurements, Slowdowns } from "./MeasurementNotes";
import { type HistogramBar, stalenessBars, stepParts } from "./profile";
import { StepTimeBreakdown } from "./StepTimeBreakdown";

import classes from "./ProfileCard.module.css";

export function ProfileCard({ job }: { job: Job }) {
  const { data, error, isPending, refetch } = useQuery(speedQuery(job));
  const newest = data?.samples.at(-1);
  if (isPending) return null;
  if (newest === undefined && error === null && data.refused.length === 0) return <NothingMeasured isScript={job.model_version.kind === "script"} />;
  return (
    <FigureCard title={t`Profile`} of={job.name} csv={() => csvOfProfile(newest, data?.workers ?? [])} isEmpty={newest === undefined}>
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      <RefusedMeasurements rows={data?.refused ?? []} />
      {newest !== undefined && (
        <Stack gap="md">
          <StepTime speed={newest} />
          <StepTimeBreakdown workers={data?.workers ?? []} />
          <Facts facts={metricFacts(newest)} />
          <Slowdowns rows={data?.slowdowns ?? []} />
          <Staleness speed={newest} />
          <Meanings speed={newest} />
        </Stack>
      )}
    </FigureCard>
  );
}

/** Of which parts a step is made, of the slowest worker and of each, and how stale gradients were. */
function csvOfProfile(newest: Speed | undefined, workers: readonly WorkerStepTime[]): string {
  const whole = newest === undefined ? [] : stepParts(newest).map(({ name, seconds }) => ["step", null, name, seconds] as const);
  const each = workers.flatMap((worker) => stepParts(worker).map(({ name, seconds }) => ["worker", worker.worker, name, seconds] as const));
  const staleness = (newest?.staleness ?? []).map((n, versions) => ["staleness", null, versions, n] as const);
  return csvOf([["figure", "worker", "part", "seconds_or_count"], ...whole, ...each, ...staleness]);
}

function NothingMeasured({ isScript }: { isScript: boolean }) {
  return isScript ? (
    <EmptyState title={t`No times of steps`} text={t`Scripts report no times of their steps. The profiler records what torch does in them.`} />
  ) : (
    <EmptyState title={t`Nothing measured yet`} text={t`Where a step's time goes is shown some seconds after training has begun.`} />
  );
}

function StepTime({ speed }: { speed: Speed }) {
  const parts = stepParts(speed);
  return (
    <div>
      <Text size="sm" mb={6}>
        {t`A step takes ${POD_METRICS.step_s.text(speed)}`}
      </Text>
      <div className={classes.parts} aria-hidden="true">
        {parts.map(({ name, share }) => (
          <span key={name} data-part={name} style={{ flexGrow: share }} />
        ))}
      </div>
      <Group component="ul" gap="4px 16px" className={classes.list} mt={6}>
        {parts.map(({ name, label, share, seconds }) => (
          <Text key={name} component="li" size="xs" c="dimmed">
            <span className={classes.swatch} data-part={name} />
            {label} {shortDuration(seconds)} · {percent(share)}
          </Text>
        ))}
      </Group>
    </div>
  );
}

/** The metrics that are shown above, in one sentence each. */
function Meanings({ speed }: { speed: Speed }) {
  return (
    <details className={classes.explained}>
      <summary>{t`What these metrics mean`}</summary>
      <dl>
        {metricMeanings(speed).map(([name, about]) => (
          <div key={name}>
            <Text component="dt" size="xs" fw={600}>
              {name}
            </Text>
            <Text component="dd" size="xs" c="dimmed" m={0}>
              {about}
            </Text>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Staleness({ speed }: { speed: Speed }) {
  const bars = stalenessBars(speed.staleness);
  if (bars.length < 2) return null;
  const alternative = bars.map(({ label, share }) => `${label}: ${percent(share)}`).join(", ");
  const discarded = speed.n_discarded > 0 ? t` · ${plural(speed.n_discarded, { one: "# gradient", other: "# gradients" })} came too late` : "";
  return (
    <div>
      <Text size="sm" mb={6}>
        <Trans>
          Staleness of gradients, in versions{" "}
          <Text span size="xs" c="dimmed">
            {POD_METRICS.staleness.text(speed)}
            {discarded}
          </Text>
        </Trans>
      </Text>
      <div className={classes.histogram} role="img" aria-label={t`Staleness ${alternative}`}>
        {bars.map((bar) => (
          <Column key={bar.label} bar={bar} highest={Math.max(...bars.map(({ share }) => share))} />
        ))}
      </div>
    </div>
  );
}

function Column({ bar, highest }: { bar: HistogramBar; highest: number }) {
  return (
    <div className={classes.column}>
      <Text size="xs" c="dimmed" className={classes.share}>
        {bar.share < 0.005 ? "" : percent(bar.share)}
      </Text>
      <span style={{ height: `${Math.max(1, (48 * bar.share) / highest)}px` }} />
      <Text size="xs">{bar.label}</Text>
    </div>
  );
}
