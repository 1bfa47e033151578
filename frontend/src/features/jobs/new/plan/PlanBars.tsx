// SPDX-License-Identifier: Apache-2.0
// The plan and its alternatives over time, on one scale: hatched while pending, solid to the median, fading to nine of ten.
import { plural, t } from "@lingui/core/macro";
import { Group, Text } from "@mantine/core";
import { useRef } from "react";

import type { JobPreview } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { meaningfulStart } from "@/domain/jobs/pendingJob";
import { csvOf } from "@/lib/download";
import { duration } from "@/lib/time";

import classes from "./PlanBars.module.css";

type Run = JobPreview["plan"];

interface Bar {
  label: string;
  /** In seconds from now. */
  start_s: number;
  finish_s: number;
  p90_s: number;
}

export function PlanBars({ preview }: { preview: JobPreview }) {
  const drawing = useRef<HTMLDivElement>(null);
  const now_ms = Date.parse(preview.as_of);
  const bars = [
    barOf(preview.plan, now_ms, t`As it is`),
    ...preview.alternatives.map(({ run }) => barOf(run, now_ms, plural(run.n_workers, { one: "# GPU", other: "# GPUs" }))),
  ].filter((bar) => bar !== null);
  const most = Math.max(...bars.map(({ p90_s }) => p90_s));
  if (bars.length === 0 || !(most > 0)) return null;
  const share = (seconds: number) => `${(100 * seconds) / most}%`;
  return (
    <Group gap="xs" wrap="nowrap" align="start">
      <div ref={drawing} className={classes.bars} aria-hidden>
        {bars.map(({ label, start_s, finish_s, p90_s }, index) => (
          <div key={index} className={classes.row}>
            <Text size="xs" c="dimmed" truncate>
              {label}
            </Text>
            <div className={classes.track}>
              <span className={classes.pending} style={{ width: share(start_s) }} />
              <span className={classes.run} data-plan={index === 0 || undefined} style={{ insetInlineStart: share(start_s), width: share(finish_s - start_s) }} />
              <span className={classes.tail} style={{ insetInlineStart: share(finish_s), width: share(p90_s - finish_s) }} />
            </div>
          </div>
        ))}
        <div className={classes.row}>
          <span />
          <div className={classes.ends}>
            <Text size="xs" c="dimmed">{t`now`}</Text>
            <Text size="xs" c="dimmed">{t`in ${duration(most)}`}</Text>
          </div>
        </div>
      </div>
      <FigureMenu name={t`Plan and its alternatives`} of={drawing} csv={() => csvOfPlan(bars)} />
    </Group>
  );
}

/** A row a plan, in seconds from now. */
function csvOfPlan(bars: readonly Bar[]): string {
  return csvOf([["plan", "start_s", "finish_p50_s", "finish_p90_s"], ...bars.map(({ label, start_s, finish_s, p90_s }) => [label, start_s, finish_s, p90_s])]);
}

/** null where the end, or the start that it rests on, is not known. */
function barOf(run: Run, now_ms: number, label: string): Bar | null {
  const seconds = (iso: string | null) => (iso === null ? null : Math.max(0, (Date.parse(iso) - now_ms) / 1000));
  const finish_s = seconds(run.finish_at);
  const start = run.decision === "wait" ? meaningfulStart(run.start_at, now_ms) : null;
  if (finish_s === null || (run.decision === "wait" && start === null)) return null;
  const start_s = Math.min(finish_s, seconds(start) ?? 0);
  return { label, start_s, finish_s, p90_s: Math.max(finish_s, seconds(run.finish_p90_at) ?? finish_s) };
}
