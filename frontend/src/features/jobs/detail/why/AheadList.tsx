// SPDX-License-Identifier: Apache-2.0
// The jobs that are served before this one, and the running job at whose end it starts.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { List, Text } from "@mantine/core";

import type { Analysis } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { meaningfulStart } from "@/domain/jobs/pendingJob";
import { Section } from "@/components/layout/Section";
import { clock, until, useNow } from "@/lib/time";

export function AheadList({ analysis: { ahead, awaited } }: { analysis: Analysis }) {
  const now = useNow(10);
  return (
    <Section title={t`Who is ahead`} order={3}>
      {ahead.n_jobs === 0 && <Text size="sm">{t`It is the next one to be served.`}</Text>}
      {ahead.n_others > 0 && (
        <Text size="sm">{t`${plural(ahead.n_others, { one: "# job", other: "# jobs" })} of other organisations ahead of it.`}</Text>
      )}
      {ahead.jobs.length > 0 && (
        <List size="sm" aria-label={t`Jobs ahead`}>
          {ahead.jobs.map((job) => (
            <List.Item key={job.id}>
              <TextLink to={`/jobs/${job.id}`}>{job.name}</TextLink> ({plural(job.n_workers, { one: "# GPU", other: "# GPUs" })}
              {startText(job.predicted_start_at, now)}): {job.explanation.sentence}
            </List.Item>
          ))}
        </List>
      )}
      {awaited !== null && (
        <Text size="sm">
          <Trans>
            It starts when{" "}
            {awaited.id === null ? t`a job of another organisation` : <TextLink to={`/jobs/${awaited.id}`}>{awaited.name}</TextLink>}{" "}
            ends: predicted {finishText(awaited.finish_at, now)}.
          </Trans>
        </Text>
      )}
    </Section>
  );
}

/** Nothing once the time has come without a start. */
function startText(predicted: string | null, now: number): string {
  const start = meaningfulStart(predicted, now);
  return start === null ? "" : t`, starts ${clock(start)}`;
}

/** "14:05", "14:05 (overdue by 3 min)". */
function finishText(predicted: string | null, now: number): string {
  const isLate = predicted !== null && Date.parse(predicted) < now;
  return isLate ? `${clock(predicted)} (${until(predicted, now)})` : clock(predicted);
}
