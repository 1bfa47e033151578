// One job: where it stands and why, its curves, log, attempts and result; live while it lives.
import { Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useParams } from "react-router";

import type { JobDetail } from "@/api/types";
import { Answer } from "@/components/Answer";
import { BackLink } from "@/components/BackLink";
import { Curves, type Mark } from "@/components/Curves";
import { Loading } from "@/components/Loading";
import { LogView } from "@/components/LogView";
import { Page } from "@/components/Page";
import { ProblemAlert } from "@/components/ProblemAlert";
import { SectionCard } from "@/components/Section";
import { StateBadge } from "@/components/StateBadge";

import { AnswerCard } from "./AnswerCard";
import { Attempts } from "./Attempts";
import { Decisions } from "./Decisions";
import { EventsList } from "./EventsList";
import { FailureCard } from "./FailureCard";
import { JobActions } from "./JobActions";
import { JobProgress } from "./JobProgress";
import { PlacementCard, RequestCard } from "./JobCards";
import { Measured } from "./Measured";
import { ResultCard } from "./ResultCard";
import { WaitingCard } from "./WaitingCard";
import { type Live, useLiveJob } from "./live";
import { isOver } from "./queries";

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
      <Answer of={live} label="Loading curves and log">
        {(known) => <History job={job.data} live={known} />}
      </Answer>
    </Page>
  );
}

function Subtitle({ job, isConnected }: { job: JobDetail; isConnected: boolean }) {
  return (
    <Group gap="xs" component="span">
      <StateBadge state={job.state} />
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
      {job.result_version !== null && <ResultCard job={job} version={job.result_version} />}
      {job.kind !== "train" && job.state === "succeeded" && <AnswerCard job={job} />}
      <WaitingCard job={job} />
      <JobProgress job={job} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <RequestCard job={job} />
        <PlacementCard job={job} />
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
      <Measured job={job} />
      <SectionCard title="Attempts">
        <Attempts job={job} />
      </SectionCard>
      <SectionCard title="What was decided">
        <Decisions id={job.id} />
      </SectionCard>
      <SectionCard title="Log">
        <LogView lines={live.log.lines} isCut={live.log.isCut} isLive={!isOver(job)} />
      </SectionCard>
      <SectionCard title="Events">
        <EventsList events={live.events} />
      </SectionCard>
    </Stack>
  );
}
