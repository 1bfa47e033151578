// One job: where it stands and why, its curves, log, attempts and result; live while it lives.
import { Group, SimpleGrid, Stack } from "@mantine/core";
import { useParams } from "react-router";

import type { JobDetail } from "@/api/types";
import { JobStateBadge } from "@/components/display/JobStateBadge";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";
import { isOver } from "@/domain/jobState";
import { AttemptTimeline } from "@/features/jobs/detail/attempts/AttemptTimeline";
import { DecisionTable } from "@/features/jobs/detail/decisions/DecisionTable";
import { EventTable } from "@/features/jobs/detail/events/EventTable";
import { LogView } from "@/features/jobs/detail/logs/LogView";
import { MetricCurves } from "@/features/jobs/detail/metrics/MetricCurves";
import { ResourcesCard, ConfigurationCard } from "@/features/jobs/detail/overview/ConfigurationCard";
import { FailureCard } from "@/features/jobs/detail/overview/FailureCard";
import { JobProgress } from "@/features/jobs/detail/overview/JobProgress";
import { PredictionResultCard } from "@/features/jobs/detail/overview/PredictionResultCard";
import { StatusCard } from "@/features/jobs/detail/overview/StatusCard";
import { TrainedModelCard } from "@/features/jobs/detail/overview/TrainedModelCard";
import { ProfileCard } from "@/features/jobs/detail/profile/ProfileCard";

import { JobActions } from "./JobActions";
import { type Live, useLiveJob } from "./useLiveJob";

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
  return (
    <Stack gap="md">
      {(job.kind === "train" || live.curves.size > 0) && (
        <SectionCard title="Curves">
          <MetricCurves curves={live.curves} attempts={job.attempts} isOver={isOver(job)} />
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
