// SPDX-License-Identifier: Apache-2.0
// The columns of the table of jobs: what each shows, how wide it is, and by what the API sorts it.
// Cells are plain elements: dozens of rows appear at once while one scrolls.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";

import { JobStateBadge } from "@/components/display/JobStateBadge";
import { PredictedTime } from "@/components/display/PredictedTime";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SHARED_RESOURCES, SLOWDOWN_BASES, type SharedResource, slowerBy } from "@/domain/scheduling/sharedResource";
import { isOver } from "@/domain/states/jobState";
import { headlineMetric, shapeOf } from "@/features/jobs/format";
import { bytes, number, percent, significant } from "@/lib/quantities";
import { duration } from "@/lib/time";

import type { JobRow } from "./tableRows";
import classes from "./JobTable.module.css";

export interface Column {
  label: string;
  /** A track of a CSS grid. */
  width: string;
  /** The API's name of the order by this column. */
  sort?: string;
  /** Whether numbers line up at the right. */
  isNumber?: boolean;
  cell: (job: JobRow) => ReactNode;
  /** The whole text, for a cell that may be cut. */
  title?: (job: JobRow) => string;
}

export type ColumnName =
  | "name" | "state" | "progress" | "outcome" | "created" | "owner" | "tags" | "gpu_hours" | "workers" | "model" | "dataset"
  | "project" | "times" | "priority" | "slowdown" | "network";

export const COLUMNS: Record<ColumnName, Column> = {
  name: {
    label: t`Job`,
    width: "minmax(180px, 2fr)",
    sort: "name",
    cell: (job) => <JobName job={job} />,
    title: ({ name, project }) => `${name} (${project.organisation.name} / ${project.name})`,
  },
  state: { label: t`State`, width: "120px", sort: "state", cell: ({ state }) => <JobStateBadge state={state} /> },
  progress: { label: t`Progress`, width: "120px", cell: (job) => <JobBar job={job} /> },
  outcome: {
    label: t`Finish, result or reason`,
    width: "minmax(180px, 2fr)",
    sort: "finish",
    cell: (job) => <Outcome job={job} />,
    title: outcomeTitle,
  },
  created: { label: t`Submitted`, width: "104px", sort: "created", cell: (job) => <RelativeTime at={job.submitted_at} /> },
  owner: { label: t`Owner`, width: "minmax(72px, 0.6fr)", cell: (job) => job.created_by.username, title: (job) => job.created_by.username },
  tags: {
    label: t`Tags`,
    width: "minmax(96px, 1fr)",
    cell: ({ tags }) => <Tags tags={tags} />,
    title: ({ tags }) => tags.join(", "),
  },
  gpu_hours: { label: t`GPU-hours`, width: "96px", sort: "gpu_hours", isNumber: true, cell: gpuHours, title: gpuHoursTitle },
  workers: { label: t`Workers`, width: "minmax(150px, 1fr)", cell: shapeOf, title: shapeOf },
  model: { label: t`Model`, width: "minmax(96px, 1fr)", cell: ({ model_version: { model } }) => model.name, title: ({ model_version: { model } }) => model.name },
  dataset: { label: t`Dataset`, width: "minmax(96px, 1fr)", cell: datasetOf, title: datasetOf },
  project: { label: t`Project`, width: "minmax(110px, 1fr)", cell: projectOf, title: projectOf },
  times: { label: t`Pending / training`, width: "150px", cell: (job) => `${duration(job.waited_s)} / ${duration(job.trained_s)}` },
  priority: { label: t`Priority`, width: "76px", isNumber: true, cell: ({ priority }) => number(priority) },
  slowdown: { label: t`Slow-down`, width: "minmax(116px, 0.8fr)", cell: slowdownOf, title: slowdownTitle },
  network: { label: t`Network`, width: "minmax(190px, 1fr)", cell: networkOf, title: networkTitle },
};

export const COLUMN_NAMES = Object.keys(COLUMNS) as ColumnName[];
export const USUAL_COLUMNS: readonly ColumnName[] = ["name", "state", "progress", "outcome", "created", "owner", "tags", "gpu_hours"];

/** The columns that the text names, in their order; the job's name is always one of them. */
export function columnsOf(text: string | null | undefined): readonly ColumnName[] {
  if (!text) return USUAL_COLUMNS;
  const named = new Set(text.split(","));
  return COLUMN_NAMES.filter((name) => name === "name" || named.has(name));
}

/** The least width of a row with these columns in pixels: the same for all rows, so that their columns line up. */
export function leastWidth(columns: readonly ColumnName[]): number {
  return columns.reduce((sum, name) => sum + Number(/\d+/.exec(COLUMNS[name].width)?.[0] ?? 0), 0);
}

/** As many of the first columns as are not too wide together; in a width of 0, which nothing has yet, all. */
export function fitting(columns: readonly ColumnName[], width: number): readonly ColumnName[] {
  const n = columns.findIndex((_, at) => at > 0 && leastWidth(columns.slice(0, at + 1)) > width);
  return width <= 0 || n < 0 ? columns : columns.slice(0, n);
}

export function JobName({ job }: { job: JobRow }) {
  return (
    <Link to={`/jobs/${job.id}`} className={classes.name} dir="auto">
      {job.name}
    </Link>
  );
}

export function JobBar({ job }: { job: JobRow }) {
  if (job.progress === null) return <>–</>;
  return (
    <span className={classes.progress}>
      <progress className={classes.bar} value={job.progress} aria-label={t`Progress of ${job.name}`} />
      <span className={classes.percent}>{percent(job.progress)}</span>
    </span>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return tags.map((tag) => (
    <Badge key={tag} size="sm" color="gray" me={4}>
      {tag}
    </Badge>
  ));
}

export function Outcome({ job }: { job: JobRow }) {
  const text = outcomeText(job);
  if (text !== "") return <>{text}</>;
  if (job.finished_at !== null) return <RelativeTime at={job.finished_at} />;
  if (job.predicted_finish_at === null) return <>–</>;
  return (
    <>
      <Trans>
        finish <PredictedTime at={job.predicted_finish_at} />
      </Trans>
    </>
  );
}

/** Why it waits or was paused, what it reached, or why it failed; "" where a time says more. */
function outcomeText(job: JobRow): string {
  const reason = job.explanations[0];
  if (job.state === "queued" && reason !== undefined) return reason.sentence;
  if (job.pause_reason !== "") return job.pause_reason;
  const metric = headlineMetric(job);
  if (metric !== null) return `${metric[0]} ${number(metric[1])}`;
  return job.failure?.message ?? "";
}

function outcomeTitle(job: JobRow): string {
  return outcomeText(job);
}

function datasetOf({ dataset_version: version }: JobRow): string {
  return version?.dataset.name ?? t`No dataset`;
}

function gpuHours(job: JobRow): string {
  const text = number(significant(job.gpu_hours, 3));
  return job.current_attempt !== null && !isOver(job) ? `${text} +` : text;
}

function gpuHoursTitle(job: JobRow): string {
  return isOver(job) ? t`Held by all its attempts` : t`Held by its ended attempts; what it holds now comes on top`;
}

/** Of a job that does not run there is nothing to measure; one that runs may train as if alone, which is a measurement. */
function slowdownOf({ state, slowdown }: JobRow): string {
  if (state !== "running") return "–";
  return slowdown ? slowerBy(slowdown.ratio) : t`not measured`;
}

function slowdownTitle({ state, slowdown }: JobRow): string {
  if (state !== "running") return t`Of running jobs`;
  if (!slowdown) return t`What the jobs on its hardware cost it was not measured yet, or several are there at once`;
  const basis = SLOWDOWN_BASES[slowdown.basis];
  return slowdown.basis === "alone" ? basis : `${SHARED_RESOURCES[slowdown.resource as SharedResource]}, ${basis}`;
}

function networkOf({ state, network }: JobRow): string {
  if (state !== "running") return "–";
  return network ? `↓ ${rate(network.received_bytes_per_s)} ↑ ${rate(network.sent_bytes_per_s)}` : t`not measured`;
}

function networkTitle({ state, network }: JobRow): string {
  if (state !== "running") return t`Of running jobs`;
  if (!network) return t`Its pods did not report what they send in the last 10 minutes`;
  return t`One worker receives ${rate(network.received_bytes_per_s)} and sends ${rate(network.sent_bytes_per_s)}`;
}

function rate(bytes_per_s: number | null): string {
  return bytes_per_s === null ? t`not measured` : t`${bytes(bytes_per_s)}/s`;
}

function projectOf({ project }: JobRow): string {
  return `${project.organisation.name} / ${project.name}`;
}
