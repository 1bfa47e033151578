// SPDX-License-Identifier: Apache-2.0
// What a job lacks, who is ahead of it, and what would help, as the live policy confirmed it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Loader, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { canSubmit, useMe } from "@/api/session";
import type { Analysis, Job, JobState } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Section, SectionCard } from "@/components/layout/Section";
import { analysisQuery } from "@/features/jobs/queries";

import { ActionCards } from "./ActionCards";
import { AheadList } from "./AheadList";
import { BlockerBars } from "./BlockerBars";

const TITLES: Partial<Record<JobState, string>> = {
  queued: t`What it waits for`,
  starting: t`What would make it faster`,
  running: t`What would make it faster`,
};

export function WhyCard({ job }: { job: Job }) {
  const title = TITLES[job.state];
  const runsUntilShutDown = job.kind === "notebook" && job.state !== "queued";
  return title === undefined || job.intent !== "run" || runsUntilShutDown ? null : <LiveWhy job={job} title={title} />;
}

function LiveWhy({ job, title }: { job: Job; title: string }) {
  const { data, error, isPending, refetch } = useQuery(analysisQuery(job));
  return (
    <SectionCard title={title}>
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {isPending && (
        <Text size="sm" c="dimmed" role="status">
          <Trans>
            <Loader size="xs" mr="xs" aria-hidden />
            The scheduler is being asked.
          </Trans>
        </Text>
      )}
      {data !== undefined && data.analysis === null && <Text size="sm">{data.note}</Text>}
      {data?.analysis && <Answer job={job} analysis={data.analysis} />}
    </SectionCard>
  );
}

function Answer({ job, analysis }: { job: Job; analysis: Analysis }) {
  const me = useMe();
  const waits = job.state === "queued";
  const mayAct = canSubmit(me, job.project);
  return (
    <Stack gap="md">
      {waits && <BlockerBars of={job.name} blockers={analysis.blockers} />}
      {waits && <AheadList analysis={analysis} />}
      <Section title={waits ? t`What would start it earlier` : t`What would end it earlier`} order={3}>
        <ActionCards job={job} actions={analysis.actions} mayAct={mayAct} waits={waits} />
        <Text size="xs" c="dimmed">
          {footnote(analysis)}
        </Text>
      </Section>
    </Stack>
  );
}

function footnote({ policy, n_tried, n_untried }: Analysis): string {
  const tried = t`The policy ${policy} decided on the present cluster after each of ${n_tried} changes.`;
  return n_untried > 0 ? t`${tried} ${n_untried} were not tried: it takes too long.` : tried;
}
