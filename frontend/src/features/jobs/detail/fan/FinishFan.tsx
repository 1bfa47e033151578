// SPDX-License-Identifier: Apache-2.0
// The finish fan: the loss over time, how it would go on, and when the job is predicted to end, now and as first predicted.
import { t } from "@lingui/core/macro";
import { Group, Skeleton, Text, VisuallyHidden } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import type { JobDetail } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { SectionCard } from "@/components/layout/Section";
import { TextLink } from "@/components/display/TextLink";
import { isOver } from "@/domain/states/jobState";
import { csvOf } from "@/lib/download";
import { number } from "@/lib/quantities";
import { clock } from "@/lib/time";

import { curveQuery } from "../metrics/metricQueries";
import { tabAddress } from "../tabs/tabs";
import { FanPicture } from "./FanPicture";
import { mainMetricQuery } from "./queries";
import { type Fan, fanOf } from "./model";

const HEIGHT = { whole: 240, compact: 150 };
const AROUND = { whole: 90, compact: 64 }; // of the card around the picture: a skeleton keeps both
const POINTS = 600;

/** size: a compact one says what the picture shows only to who cannot see it. */
export function FinishFan({ job, size = "whole" }: { job: JobDetail; size?: "whole" | "compact" }) {
  const { ref, width } = useElementSize();
  const drawing = useRef<HTMLElement>(null);
  const frame = useMergedRef(ref, drawing);
  const naming = useQuery(mainMetricQuery(job.id, job.steps_done > 0));
  const key = naming.data ?? null;
  const drawn = useQuery({ ...curveQuery(job.id, key ?? "", POINTS), enabled: key !== null });
  const fan = fanOf(job, drawn.data ?? []);
  if (naming.isPending || drawn.isLoading) return <Skeleton h={HEIGHT[size] + AROUND[size]} aria-label={t`Loading`} />;
  const title = key ?? t`Curve`;
  if (fan === null) {
    const failed = [naming, drawn].find(({ isError }) => isError);
    if (failed) {
      return (
        <SectionCard title={title}>
          <ProblemAlert error={failed.error} onRetry={() => void failed.refetch()} />
        </SectionCard>
      );
    }
    if (isOver(job)) return null;
    return <EmptyState title={t`No curve yet`} text={t`The loss and the predicted finish are drawn here as soon as it trains.`} />;
  }
  return (
    <SectionCard title={title} aside={<Aside job={job} title={title} drawing={drawing} fan={fan} />}>
      <figure ref={frame} style={{ margin: 0 }} aria-label={t`${title} over time, with the predicted finish`}>
        {width > 0 && <FanPicture fan={fan} width={width} height={HEIGHT[size]} />}
        {size === "compact" ? (
          <VisuallyHidden component="figcaption">{caption(fan)}</VisuallyHidden>
        ) : (
          <Text component="figcaption" size="xs" c="dimmed" mt={4}>
            {caption(fan)}
          </Text>
        )}
      </figure>
    </SectionCard>
  );
}

function Aside({ job, title, drawing, fan }: { job: JobDetail; title: string; drawing: { current: HTMLElement | null }; fan: Fan }) {
  return (
    <Group gap="xs">
      <TextLink to={tabAddress(job.id, "metrics")}>{t`All metrics`}</TextLink>
      <FigureMenu name={`${job.name} ${title}`} of={drawing} csv={() => csvOfFan(fan, title)} />
    </Group>
  );
}

/** What was measured, then what is predicted, with its interval. */
function csvOfFan({ past, future }: Fan, title: string): string {
  const at = (ms: number) => new Date(ms).toISOString();
  const measured = past.map(({ at_ms, value }) => [at(at_ms), value, "measured", null, null] as const);
  const predicted = future.map(({ at_ms, value, low, high }) => [at(at_ms), value, "predicted", low, high] as const);
  return csvOf([["at", title, "kind", "low", "high"], ...measured, ...predicted]);
}

function caption(fan: Fan): string {
  const last = t`Latest ${number(fan.past.at(-1)?.value)}.`;
  if (fan.p50_ms === null) return last;
  const clocked = (ms: number) => clock(new Date(ms).toISOString());
  const latest = fan.p90_ms === null || clocked(fan.p90_ms) === clocked(fan.p50_ms) ? null : clocked(fan.p90_ms);
  const p90 = latest === null ? "" : t`, by ${latest} in nine cases of ten`;
  const first = fan.first_ms === null ? "" : t` First prediction: ${clocked(fan.first_ms)}.`;
  const beyond = fan.future.length > 0 ? t` The hatched part extrapolates the curve by a power law.` : "";
  return t`${last} Predicted finish ${clocked(fan.p50_ms)}${p90}.${first}${beyond}`;
}
