// SPDX-License-Identifier: Apache-2.0
// The life of a job as one bar: pending, starting, training, stopping, in the order and proportion in which they were.
import { t } from "@lingui/core/macro";
import { Group, Text } from "@mantine/core";
import { useRef } from "react";

import type { JobDetail } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { isOver } from "@/domain/states/jobState";
import { clock, duration, useNow } from "@/lib/time";

import { PHASES } from "../attempts/phases";
import { csvOfAttempts, timelineOf } from "../attempts/timeline";
import classes from "./StateBar.module.css";

export function StateBar({ job }: { job: JobDetail }) {
  const now = useNow(isOver(job) ? 3600 : 5);
  const drawing = useRef<HTMLDivElement>(null);
  const timeline = timelineOf(job, now);
  const { from_ms, to_ms, rows } = timeline;
  const spans = rows.flatMap(({ spans: parts }) => parts);
  const text = spans.map(({ phase, from_ms: from, to_ms: to }) => `${PHASES[phase]} ${duration((to - from) / 1000)}`).join(", ");
  return (
    <Group gap="xs" wrap="nowrap" align="start">
      <div ref={drawing} className={classes.figure}>
        <div className={classes.bar} role="img" aria-label={t`Its life so far: ${text}`}>
          {spans.map(({ phase, from_ms: from, to_ms: to }, index) => {
            const lasted = duration((to - from) / 1000);
            return (
              <span key={index} data-phase={phase} title={`${PHASES[phase]} ${lasted}`} style={{ flexGrow: (to - from) / (to_ms - from_ms) }}>
                <span>{PHASES[phase]}</span> <span>{lasted}</span>
              </span>
            );
          })}
        </div>
        <div className={classes.ends}>
          <Text size="xs" c="dimmed">{t`submitted ${clock(job.submitted_at)}`}</Text>
          <Text size="xs" c="dimmed">{isOver(job) ? t`ended ${clock(job.finished_at)}` : t`now`}</Text>
        </div>
      </div>
      <FigureMenu name={t`States of ${job.name}`} of={drawing} csv={() => csvOfAttempts(timeline)} />
    </Group>
  );
}
