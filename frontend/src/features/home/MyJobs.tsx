// SPDX-License-Identifier: Apache-2.0
// One's own jobs: those that run with their curve and finish, those that wait with the reason, and those that have just ended.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Anchor, Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef } from "react";
import { Link } from "react-router";

import { useMe } from "@/api/session";
import type { JobState } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { SparkLine } from "@/components/chart/SparkLine";
import { JobStateBadge } from "@/components/display/JobStateBadge";
import { PredictedTime } from "@/components/display/PredictedTime";
import { RelativeTime } from "@/components/display/RelativeTime";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SectionCard } from "@/components/layout/Section";
import { csvOf } from "@/lib/download";
import { percent } from "@/lib/quantities";

import { type HomeJob, type Spark, myJobsQuery, sparksQuery } from "./queries";
import classes from "./HomePage.module.css";

const RUNNING: readonly JobState[] = ["starting", "running", "stopping"];
const WAITING: readonly JobState[] = ["queued", "paused"];
const OVER: readonly JobState[] = ["succeeded", "failed", "cancelled"];
const SHOWN = 8;

export function useMyJobs() {
  const { username } = useMe();
  return {
    running: useQuery(myJobsQuery(username, RUNNING, SHOWN)),
    waiting: useQuery(myJobsQuery(username, WAITING, SHOWN)),
    over: useQuery(myJobsQuery(username, OVER, SHOWN)),
  };
}

export function MyJobs({ running, waiting, over }: ReturnType<typeof useMyJobs>) {
  const sparks = useQuery(sparksQuery((running.data ?? []).map(({ id }) => id))).data ?? {};
  return (
    <SectionCard title={t`My jobs`} aside={<AllMine />}>
      <Stack gap="md">
        <QueryResult of={running} label={t`Loading the jobs that run`}>
          {(jobs) => (
            <Rows
              title={t`Running`}
              jobs={jobs}
              empty={t`None of your jobs is running.`}
              csv={Object.keys(sparks).length === 0 ? undefined : () => csvOfSparks(jobs, sparks)}
            >
              {(job) => <Running job={job} spark={sparks[job.id]?.y ?? []} />}
            </Rows>
          )}
        </QueryResult>
        <QueryResult of={waiting} label={t`Loading the jobs that wait`}>
          {(jobs) => (
            <Rows title={t`Waiting`} jobs={jobs} empty={t`None of your jobs is waiting.`}>
              {(job) => <Waiting job={job} />}
            </Rows>
          )}
        </QueryResult>
        <QueryResult of={over} label={t`Loading the jobs that have ended`}>
          {(jobs) => (
            <Rows title={t`Ended`} jobs={jobs} empty={t`None of your jobs has ended.`}>
              {(job) => (
                <Ended job={job} />
              )}
            </Rows>
          )}
        </QueryResult>
      </Stack>
    </SectionCard>
  );
}

function Ended({ job }: { job: HomeJob }) {
  return (
    <div className={classes.ended}>
      <Text size="sm" truncate title={job.failure?.message}>
        <RelativeTime at={job.finished_at} />
        {job.failure !== null && ` · ${job.failure.message}`}
      </Text>
      {job.kind === "train" && (
        <Button size="compact-xs" variant="default" component={Link} to={`/jobs/new?clone=${job.id}`} aria-label={t`Run again: ${job.name}`}>
          {t({ context: "a job", message: "Run again" })}
        </Button>
      )}
    </div>
  );
}

function AllMine() {
  const { username } = useMe();
  return (
    <Button size="compact-sm" variant="subtle" component={Link} to={`/jobs?owner=${encodeURIComponent(username)}`}>
      {t`All my jobs`}
    </Button>
  );
}

interface RowsProps {
  title: string;
  jobs: HomeJob[];
  empty: string;
  /** The numbers of the curves in the rows, where there are any. */
  csv?: (() => string) | undefined;
  children: (job: HomeJob) => ReactNode;
}

function Rows({ title, jobs, empty, csv, children }: RowsProps) {
  const drawing = useRef<HTMLDivElement>(null);
  return (
    <Stack ref={drawing} gap={0} component="section" aria-label={title}>
      <Group justify="space-between" gap="xs" wrap="nowrap" mih={24}>
        <Text size="xs" fw={600} c="dimmed">
          {title}
        </Text>
        {csv && <FigureMenu name={t`Losses of my jobs`} of={drawing} csv={csv} />}
      </Group>
      {jobs.length === 0 && (
        <Text size="sm" c="dimmed">
          {empty}
        </Text>
      )}
      {jobs.map((job) => (
        <div key={job.id} className={classes.row}>
          <div>
            <JobStateBadge state={job.state} />
          </div>
          <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" fw={600} truncate dir="auto" title={job.name} c="var(--mantine-color-text)">
            {job.name}
          </Anchor>
          <div style={{ minWidth: 0 }}>{children(job)}</div>
        </div>
      ))}
    </Stack>
  );
}

/** A row a point of the curves. */
function csvOfSparks(jobs: readonly HomeJob[], sparks: Readonly<Record<string, Spark>>): string {
  const rows = jobs.flatMap(({ id, name }) => sparks[id]?.x.map((step, index) => [id, name, step, sparks[id]?.y[index]]) ?? []);
  return csvOf([["job", "name", "step", "train/loss"], ...rows]);
}

function Running({ job, spark }: { job: HomeJob; spark: readonly number[] }) {
  return (
    <div className={classes.running}>
      <Progress.Root size="sm" className={classes.bar}>
        <Progress.Section value={100 * (job.progress ?? 0)} aria-label={t`Progress of ${job.name}`} />
      </Progress.Root>
      {spark.length > 1 ? <SparkLine values={spark} label={t`Loss of ${job.name}`} /> : <span className={classes.noSpark} />}
      <span className={classes.number}>{job.progress === null ? "–" : percent(job.progress)}</span>
      <span className={classes.number}>
        <Trans>
          finish <PredictedTime at={job.predicted_finish_at} unknown={t`not known yet`} />
        </Trans>
      </span>
    </div>
  );
}

function Waiting({ job }: { job: HomeJob }) {
  const reason = job.state === "paused" ? t`Paused until it is resumed.` : (job.explanations[0]?.sentence ?? t`The scheduler has not looked at it yet.`);
  return (
    <Text size="sm" truncate title={reason}>
      {job.predicted_start_at !== null && job.state === "queued" && (
        <>
          <Trans>
            start <PredictedTime at={job.predicted_start_at} /> ·{" "}
          </Trans>
        </>
      )}
      {reason}
    </Text>
  );
}
