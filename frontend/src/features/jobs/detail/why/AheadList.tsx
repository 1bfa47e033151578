// SPDX-License-Identifier: Apache-2.0
// The jobs that are served before this one, and the running job at whose end it starts.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { List, Text } from "@mantine/core";

import type { Analysis } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { Section } from "@/components/layout/Section";
import { clock } from "@/lib/time";

export function AheadList({ analysis: { ahead, awaited } }: { analysis: Analysis }) {
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
              {job.predicted_start_at !== null && t`, starts ${clock(job.predicted_start_at)}`}): {job.explanation.sentence}
            </List.Item>
          ))}
        </List>
      )}
      {awaited !== null && (
        <Text size="sm">
          <Trans>
            It starts when{" "}
            {awaited.id === null ? t`a job of another organisation` : <TextLink to={`/jobs/${awaited.id}`}>{awaited.name}</TextLink>}{" "}
            ends: predicted {clock(awaited.finish_at)}.
          </Trans>
        </Text>
      )}
    </Section>
  );
}
