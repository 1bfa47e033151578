// SPDX-License-Identifier: Apache-2.0
// One job: its state and why, its result, its metrics, log, attempts and decisions; live while it lives.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group, SimpleGrid, Stack } from "@mantine/core";
import { Suspense } from "react";
import { useParams } from "react-router";

import type { StreamState } from "@/api/live/stream";
import type { JobDetail } from "@/api/types";
import { JobStateBadge } from "@/components/display/JobStateBadge";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RoleNeeded } from "@/components/feedback/RoleNeeded";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";
import { SectionNav, WithSections } from "@/components/layout/SectionNav";
import { isOver } from "@/domain/jobState";
import { lazyComponent } from "@/lib/chunk";
import { clock } from "@/lib/time";

import { DroppedAlert } from "./DroppedAlert";
import { JobActions } from "./JobActions";
import { RemovedNote } from "./RemovedNote";
import { AttemptTimeline } from "./attempts/AttemptTimeline";
import { ConfigurationCard } from "./overview/ConfigurationCard";
import { FailureCard } from "./overview/FailureCard";
import { JobProgress } from "./overview/JobProgress";
import { PredictionResultCard } from "./overview/PredictionResultCard";
import { ResourcesCard } from "./overview/ResourcesCard";
import { StatusCard } from "./overview/StatusCard";
import { TrainedModelCard } from "./overview/TrainedModelCard";
import { useLiveJob } from "./useLiveJob";

/** Below the first screen, or worked out for some time: the rest of the page does not wait for them. */
const CheckpointsCard = lazyComponent(async () => (await import("./checkpoints/CheckpointsCard")).CheckpointsCard);
const DecisionTable = lazyComponent(async () => (await import("./decisions/DecisionTable")).DecisionTable);
const EventTable = lazyComponent(async () => (await import("./events/EventTable")).EventTable);
const FilesCard = lazyComponent(async () => (await import("./files/FilesCard")).FilesCard);
const StartupCard = lazyComponent(async () => (await import("./startup/StartupCard")).StartupCard);
const LogView = lazyComponent(async () => (await import("./logs/LogView")).LogView);
const NotesCard = lazyComponent(async () => (await import("./overview/NotesCard")).NotesCard);
const ProfileCard = lazyComponent(async () => (await import("./profile/ProfileCard")).ProfileCard);
const ProfilerCard = lazyComponent(async () => (await import("./profiler/ProfilerCard")).ProfilerCard);
const UsageCard = lazyComponent(async () => (await import("./usage/UsageCard")).UsageCard);
const WhyCard = lazyComponent(async () => (await import("./why/WhyCard")).WhyCard);
const NotebookCard = lazyComponent(async () => (await import("../notebook/NotebookCard")).NotebookCard);
const MetricCurves = lazyComponent(async () => (await import("./metrics/MetricCurves")).MetricCurves);

export function JobPage() {
  const { id = "" } = useParams();
  return <LiveJob key={id} id={id} />;
}

type LiveParts = Pick<ReturnType<typeof useLiveJob>, "names" | "events">;

function LiveJob({ id }: { id: string }) {
  const { job, stream, refresh, ...parts } = useLiveJob(id);
  const back = <BackLink to="/jobs">{t`Jobs`}</BackLink>;
  if (job.data === undefined) {
    return (
      <Page title={t`Job`} back={back}>
        <ProblemAlert error={job.error} onRetry={refresh} />
        {job.isPending && <Loading />}
      </Page>
    );
  }
  return (
    <Page
      title={job.data.name}
      back={back}
      subtitle={<Subtitle job={job.data} stream={stream} />}
      actions={<JobActions job={job.data} />}
    >
      <RoleNeeded organisation={job.data.project.organisation} role="member" action={t`Pausing, cancelling and cloning jobs`} />
      <WithSections>
        <SectionNav />
        <Overview job={job.data} />
        <Details job={job.data} {...parts} />
      </WithSections>
    </Page>
  );
}

function Subtitle({ job, stream }: { job: JobDetail; stream: StreamState }) {
  return (
    <Group gap="xs" component="span">
      <JobStateBadge state={job.state} />
      <span>
        <Trans>
          {job.project.organisation.name} / {job.project.name} · by {job.created_by.username}{" "}
          {!isOver(job) && <span role="status">{liveness(stream)}</span>}
        </Trans>
      </span>
    </Group>
  );
}

function liveness({ isConnected, staleSince }: StreamState): string {
  if (isConnected) return t`· live`;
  return staleSince === null ? t`· connecting…` : t`· not updated since ${clock(staleSince)}, reconnecting…`;
}

function Overview({ job }: { job: JobDetail }) {
  return (
    <Stack gap="md">
      {job.failure !== null && <FailureCard failure={job.failure} />}
      {job.result_version !== null && <TrainedModelCard job={job} version={job.result_version} />}
      {(job.kind === "predict" || job.kind === "evaluate") && job.state === "succeeded" && <PredictionResultCard job={job} />}
      <StatusCard job={job} />
      {job.kind === "notebook" && (
        <Suspense fallback={<Loading label={t`Loading the notebook`} />}>
          <NotebookCard job={job} />
        </Suspense>
      )}
      <Suspense fallback={null}>
        <WhyCard job={job} />
      </Suspense>
      {job.kind !== "notebook" && <JobProgress job={job} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <ConfigurationCard job={job} />
        <ResourcesCard job={job} />
      </SimpleGrid>
      <Suspense fallback={null}>
        <NotesCard key={`${job.notes}\n${job.tags.join()}`} job={job} />
      </Suspense>
    </Stack>
  );
}

/** Each part shows its own failure: the others stay readable. */
function Details({ job, names, events }: LiveParts & { job: JobDetail }) {
  const hasMetrics = job.kind === "train" || (names.data?.size ?? 0) > 0;
  return (
    <Stack gap="md">
      {hasMetrics && (
        <SectionCard title={t`Metrics`}>
          <DroppedAlert dropped={job.dropped} part="metrics" />
          <RemovedNote job={job} kinds={["metrics"]} />
          <QueryResult of={names} label={t`Loading the metrics`}>
            {(known) => (
              <Suspense fallback={<Loading label={t`Loading the charts`} />}>
                <MetricCurves id={job.id} names={known} attempts={job.attempts} isOver={isOver(job)} />
              </Suspense>
            )}
          </QueryResult>
        </SectionCard>
      )}
      <Suspense fallback={null}>
        <FilesCard job={job} />
        <StartupCard job={job} />
        <ProfileCard job={job} />
        <ProfilerCard job={job} />
        <UsageCard job={job} />
        {job.kind === "train" && <CheckpointsCard job={job} />}
      </Suspense>
      <SectionCard title={t`Attempts`}>
        <AttemptTimeline job={job} />
      </SectionCard>
      <SectionCard title={t`Scheduling decisions`}>
        <Suspense fallback={<Loading label={t`Loading the decisions`} />}>
          <DecisionTable id={job.id} />
        </Suspense>
      </SectionCard>
      <SectionCard title={t`Log`}>
        <DroppedAlert dropped={job.dropped} part="log" />
        <RemovedNote job={job} kinds={["logs"]} />
        <Suspense fallback={<Loading label={t`Loading the log`} />}>
          <LogView id={job.id} attempts={job.attempts} isLive={!isOver(job)} />
        </Suspense>
      </SectionCard>
      <SectionCard title={t`Events`}>
        <RemovedNote job={job} kinds={["events"]} />
        <QueryResult of={events} label={t`Loading the events`}>
          {(known) => (
            <Suspense fallback={<Loading label={t`Loading the events`} />}>
              <EventTable events={known} />
            </Suspense>
          )}
        </QueryResult>
      </SectionCard>
    </Stack>
  );
}
