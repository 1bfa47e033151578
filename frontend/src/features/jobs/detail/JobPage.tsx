// One job: where it stands and why, its curves, log, attempts and result; live while it lives.
import { Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useParams } from "react-router";

import type { JobDetail } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Curves, type Mark } from "@/components/chart/Curves";
import { Loading } from "@/components/feedback/Loading";
import { LogView } from "@/features/jobs/detail/logs/LogView";
import { Page } from "@/components/layout/Page";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { SectionCard } from "@/components/layout/Section";
import { JobStateBadge } from "@/components/display/JobStateBadge";

import { PredictionResultCard } from "@/features/jobs/detail/overview/PredictionResultCard";
import { AttemptTimeline } from "@/features/jobs/detail/attempts/AttemptTimeline";
import { DecisionTable } from "@/features/jobs/detail/decisions/DecisionTable";
import { EventTable } from "@/features/jobs/detail/events/EventTable";
import { FailureCard } from "@/features/jobs/detail/overview/FailureCard";
import { JobActions } from "./JobActions";
import { JobProgress } from "@/features/jobs/detail/overview/JobProgress";
import { ResourcesCard, ConfigurationCard } from "@/features/jobs/detail/overview/ConfigurationCard";
import { ProfileCard } from "@/features/jobs/detail/profile/ProfileCard";
import { TrainedModelCard } from "@/features/jobs/detail/overview/TrainedModelCard";
import { StatusCard } from "@/features/jobs/detail/overview/StatusCard";
import { type Live, useLiveJob } from "./useLiveJob";
import { isOver } from "@/features/jobs/queries";

export function JobPage() {
  const { id = "" } = useParams();
  return <LiveJob key={id} id={id} />;
}

function LiveJob({ id }: { id: string }) {
  const { job, live, isConnected } = useLiveJob(id);
  const back = <BackLink to="/jobs">Jobs</BackLink>;
  if (job.data === undefined) {
    return (
      <Page title="Job" back={back}>
        <ProblemAlert error={job.error} onRetry={() => void job.refetch()} />
        {job.isPending && <Loading />}
      </Page>
    );
  }
  return (
    <Page
      title={job.data.name}
      back={back}
      subtitle={<Subtitle job={job.data} isConnected={isConnected} />}
      actions={<JobActions job={job.data} />}
    >
      <Where job={job.data} />
      <QueryResult of={live} label="Loading curves and log">
        {(known) => <History job={job.data} live={known} />}
      </QueryResult>
    </Page>
  );
}

function Subtitle({ job, isConnected }: { job: JobDetail; isConnected: boolean }) {
  return (
    <Group gap="xs" component="span">
      <JobStateBadge state={job.state} />
      <span>
        {job.project.organisation.name} / {job.project.name} · by {job.created_by.username}{" "}
        {!isOver(job) && <span role="status">{isConnected ? "· live" : "· connecting…"}</span>}
      </span>
    </Group>
  );
}

function Where({ job }: { job: JobDetail }) {
  return (
    <Stack gap="md">
      {job.failure !== null && <FailureCard failure={job.failure} />}
      {job.result_version !== null && <TrainedModelCard job={job} version={job.result_version} />}
      {job.kind !== "train" && job.state === "succeeded" && <PredictionResultCard job={job} />}
      <StatusCard job={job} />
      <JobProgress job={job} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <ConfigurationCard job={job} />
        <ResourcesCard job={job} />
      </SimpleGrid>
    </Stack>
  );
}

function History({ job, live }: { job: JobDetail; live: Live }) {
  const marks = useMemo(
    (): Mark[] =>
      job.attempts
        .filter(({ number, training_at }) => number > 1 && training_at !== null)
        .map(({ number, first_step }) => ({ step: first_step, label: `#${number}` })),
    [job.attempts],
  );
  return (
    <Stack gap="md">
      {(job.kind === "train" || live.curves.size > 0) && (
        <SectionCard title="Curves">
          {live.curves.size > 0 ? (
            <Curves curves={live.curves} marks={marks} />
          ) : (
            <Text size="sm" c="dimmed">
              {isOver(job) ? "It reported no metrics." : "Metrics appear here as soon as it trains."}
            </Text>
          )}
        </SectionCard>
      )}
      <ProfileCard job={job} />
      <SectionCard title="Attempts">
        <AttemptTimeline job={job} />
      </SectionCard>
      <SectionCard title="What was decided">
        <DecisionTable id={job.id} />
      </SectionCard>
      <SectionCard title="Log">
        <LogView lines={live.log.lines} isCut={live.log.isCut} isLive={!isOver(job)} />
      </SectionCard>
      <SectionCard title="Events">
        <EventTable events={live.events} />
      </SectionCard>
    </Stack>
  );
}
