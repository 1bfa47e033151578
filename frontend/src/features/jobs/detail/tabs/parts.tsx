// SPDX-License-Identifier: Apache-2.0
// What each tab of a job shows. A tab's code and data are loaded when it is opened; each part shows its own failure.
import { t } from "@lingui/core/macro";
import { Skeleton, Stack } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, Suspense } from "react";

import type { JobDetail } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SectionCard } from "@/components/layout/Section";
import { isOver } from "@/domain/states/jobState";
import { lazyComponent } from "@/lib/chunk";

import { DroppedAlert } from "../DroppedAlert";
import { RemovedNote } from "../RemovedNote";
import { eventsQuery, liveStartQuery } from "../liveParts";
import { namesQuery } from "../metrics/metricQueries";
import { StatusCard } from "../overview/StatusCard";
import type { TabName } from "./tabs";

const AttemptTimeline = lazyComponent(async () => (await import("../attempts/AttemptTimeline")).AttemptTimeline);
const CheckpointsCard = lazyComponent(async () => (await import("../checkpoints/CheckpointsCard")).CheckpointsCard);
const CodeTab = lazyComponent(async () => (await import("../code/CodeTab")).CodeTab);
const ConfigurationCard = lazyComponent(async () => (await import("../overview/ConfigurationCard")).ConfigurationCard);
const DecisionTable = lazyComponent(async () => (await import("../decisions/DecisionTable")).DecisionTable);
const EventTable = lazyComponent(async () => (await import("../events/EventTable")).EventTable);
const FilesCard = lazyComponent(async () => (await import("../files/FilesCard")).FilesCard);
const LogView = lazyComponent(async () => (await import("../logs/LogView")).LogView);
const MetricCurves = lazyComponent(async () => (await import("../metrics/MetricCurves")).MetricCurves);
const PlacementTab = lazyComponent(async () => (await import("../placement/PlacementTab")).PlacementTab);
const ProfileCard = lazyComponent(async () => (await import("../profile/ProfileCard")).ProfileCard);
const ProfilerCard = lazyComponent(async () => (await import("../profiler/ProfilerCard")).ProfilerCard);
const StartupCard = lazyComponent(async () => (await import("../startup/StartupCard")).StartupCard);
const TrainedModelCard = lazyComponent(async () => (await import("../overview/TrainedModelCard")).TrainedModelCard);
const UsageCard = lazyComponent(async () => (await import("../usage/UsageCard")).UsageCard);
const WhyCard = lazyComponent(async () => (await import("../why/WhyCard")).WhyCard);

interface Props {
  job: JobDetail;
}

/** All but the overview, which is there with the page. */
export const PARTS: Record<Exclude<TabName, "overview">, (props: Props) => ReactNode> = {
  why: ({ job }) => (
    <Stack gap="md">
      <StatusCard job={job} />
      <Soon>
        <WhyCard job={job} />
      </Soon>
      <SectionCard title={t`Scheduling decisions`}>
        <Soon>
          <DecisionTable id={job.id} />
        </Soon>
      </SectionCard>
    </Stack>
  ),
  timeline: ({ job }) => (
    <Stack gap="md">
      <Soon>
        <AttemptTimeline job={job} />
      </Soon>
      <Suspense fallback={null}>
        <StartupCard job={job} />
      </Suspense>
    </Stack>
  ),
  metrics: Metrics,
  logs: ({ job }) => (
    <SectionCard title={t`Log`}>
      <DroppedAlert dropped={job.dropped} part="log" />
      <RemovedNote job={job} kinds={["logs"]} />
      <Suspense fallback={<Loading label={t`Loading the log`} />}>
        <LogView id={job.id} attempts={job.attempts} isLive={!isOver(job)} />
      </Suspense>
    </SectionCard>
  ),
  profile: ({ job }) => (
    <Stack gap="md">
      <Soon>
        <ProfileCard job={job} />
        <ProfilerCard job={job} />
        <UsageCard job={job} />
      </Soon>
    </Stack>
  ),
  placement: ({ job }) => (
    <Soon>
      <PlacementTab job={job} />
    </Soon>
  ),
  checkpoints: ({ job }) => (
    <Soon>
      <CheckpointsCard job={job} />
    </Soon>
  ),
  artifacts: ({ job }) => (
    <Stack gap="md">
      <Soon>
        {job.result_version !== null && <TrainedModelCard job={job} version={job.result_version} />}
        <RemovedNote job={job} kinds={["results"]} />
        <FilesCard job={job} />
      </Soon>
    </Stack>
  ),
  code: ({ job }) => (
    <Soon>
      <CodeTab job={job} />
    </Soon>
  ),
  configuration: ({ job }) => (
    <Soon>
      <ConfigurationCard job={job} />
    </Soon>
  ),
  events: Events,
};

/** As high as most of what comes there, so that little moves. */
function Soon({ children }: { children: ReactNode }) {
  return <Suspense fallback={<Skeleton h={240} aria-label={t`Loading`} />}>{children}</Suspense>;
}

function Metrics({ job }: Props) {
  const hasStart = useQuery(liveStartQuery(useQueryClient(), job.id)).data !== undefined;
  const names = useQuery({ ...namesQuery(job.id), enabled: hasStart });
  return (
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
  );
}

function Events({ job }: Props) {
  const events = useQuery(eventsQuery(useQueryClient(), job.id));
  return (
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
  );
}
