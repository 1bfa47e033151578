// SPDX-License-Identifier: Apache-2.0
// One job next to the list: what people look at most of its page, live by the job's own stream, and what can be done to it.
import { t } from "@lingui/core/macro";
import { Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { Suspense } from "react";

import type { JobDetail } from "@/api/types";
import { JobStateBadge } from "@/components/display/JobStateBadge";
import { TextLink } from "@/components/display/TextLink";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { isMoving, isOver } from "@/domain/states/jobState";
import { lazyComponent } from "@/lib/chunk";

import { FinishFan } from "../fan/FinishFan";
import { JobActions } from "../JobActions";
import { liveness } from "../liveness";
import { LogTail } from "../logs/LogTail";
import { FailureCard } from "../overview/FailureCard";
import { JobProgress } from "../overview/JobProgress";
import { StatusCard } from "../overview/StatusCard";
import { tabAddress } from "../tabs/tabs";
import { useLiveJob } from "../useLiveJob";
import classes from "./JobPanel.module.css";

const NotebookCard = lazyComponent(async () => (await import("../../notebook/NotebookCard")).NotebookCard);

interface Props {
  id: string;
  onClose: () => void;
}

export function JobPanel({ id, onClose }: Props) {
  const { job, stream, refresh } = useLiveJob(id);
  if (job.data === undefined) {
    return (
      <>
        <ProblemAlert error={job.error} onRetry={refresh} />
        {job.isPending && <Loading />}
      </>
    );
  }
  const { data } = job;
  return (
    <>
      <div>
        <Title order={2} size="h4" className={classes.name}>
          <TextLink to={`/jobs/${id}`}>{data.name}</TextLink>
        </Title>
        <Group gap="xs" mt={4}>
          <JobStateBadge state={data.state} />
          <Text size="xs" c="dimmed" className={classes.place}>
            {t`${data.project.organisation.name} / ${data.project.name} · by ${data.created_by.username}`}{" "}
            {!isOver(data) && <span role="status">{liveness(stream)}</span>}
          </Text>
        </Group>
      </div>
      <Group gap="xs">
        <JobActions job={data} onDeleted={onClose} />
        {(data.state === "queued" || (isMoving(data) && data.kind !== "notebook")) && (
          <Text size="sm" ms="auto">
            <TextLink to={tabAddress(id, "why")}>{data.state === "queued" ? t`What would start it earlier` : t`What would end it earlier`}</TextLink>
          </Text>
        )}
      </Group>
      <State job={data} />
      {data.kind === "train" && <FinishFan job={data} size="compact" />}
      <LogTail id={id} isLive={!isOver(data)} />
    </>
  );
}

/** Why it is as it is, and how far. */
function State({ job }: { job: JobDetail }) {
  return (
    <Stack gap="sm">
      {job.failure !== null && <FailureCard job={job} failure={job.failure} />}
      <StatusCard job={job} />
      {job.kind === "notebook" ? (
        <Suspense fallback={<Skeleton h={120} />}>
          <NotebookCard job={job} />
        </Suspense>
      ) : (
        <JobProgress job={job} cols={3} />
      )}
    </Stack>
  );
}
