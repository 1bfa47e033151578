// SPDX-License-Identifier: Apache-2.0
// The answer of the API as rows that are drawn: bars with their jobs, colours by organisation, ticks of the axis.
import { t } from "@lingui/core/macro";

import type { Timeline } from "@/api/types";
import { csvOf } from "@/lib/download";
import { dateLocale } from "@/locales/locale";

type ApiNode = Timeline["nodes"][number];
type ApiBar = ApiNode["bars"][number];
type ApiJob = Timeline["jobs"][number];
export type MarkKind = ApiNode["marks"][number]["kind"];

export interface Bar {
  key: string;
  node: string;
  firstGpu: number;
  nGpus: number;
  sinceS: number;
  untilS: number;
  p50S: number | null;
  p90S: number | null;
  n: number;
  job: ApiJob | undefined;
  /** From the job's submission until it got these GPUs; null: not its first attempt, or another bar says it. */
  waitedS: number | null;
}

export interface Mark {
  key: string;
  kind: MarkKind;
  gpu: number;
  atS: number;
  name: string;
}

export interface NodeRow {
  name: string;
  gpuType: string;
  nGpus: number;
  bars: Bar[];
  marks: Mark[];
}

export interface WaitingRow {
  job: ApiJob;
  /** Seconds from the timeline's beginning: below 0, it was submitted before; null: it has run already. */
  submittedS: number | null;
  startP50S: number;
  startP90S: number | null;
  finishP50S: number | null;
  finishP90S: number | null;
}

export function nodeRows(pages: readonly Timeline[]): NodeRow[] {
  const seen = new Set<string>();
  /** A job on many nodes waited once. */
  function waited(bar: ApiBar, job: ApiJob | undefined, since: string): number | null {
    if (job === undefined || job.allocated_at === null || bar.n > 1 || seen.has(job.id)) return null;
    if (Math.abs(secondsBetween(since, job.allocated_at) - bar.since_s) > ROUNDED_S) return null;
    seen.add(job.id);
    return Math.max(0, secondsBetween(job.submitted_at, job.allocated_at));
  }
  return pages.flatMap(({ since, nodes, jobs }) =>
    nodes.map((node) => ({
      name: node.name,
      gpuType: node.gpu_type,
      nGpus: Math.max(1, node.n_gpus),
      bars: node.bars.map((bar) => ({
        key: `${node.name} ${bar.first_gpu} ${bar.n_gpus} ${bar.since_s} ${bar.job ?? ""}`,
        node: node.name,
        firstGpu: bar.first_gpu,
        nGpus: bar.n_gpus,
        sinceS: bar.since_s,
        untilS: bar.until_s,
        p50S: bar.p50_s,
        p90S: bar.p90_s,
        n: bar.n,
        job: bar.job === null ? undefined : jobs[bar.job],
        waitedS: bar.job === null ? null : waited(bar, jobs[bar.job], since),
      })),
      marks: node.marks.map((mark, index) => ({
        key: `${mark.kind} ${index}`,
        kind: mark.kind,
        gpu: mark.gpu,
        atS: mark.at_s,
        name: mark.job === null ? t`a job of another organisation` : (jobs[mark.job]?.name ?? t`a job`),
      })),
    })),
  );
}

export function waitingRows(page: Timeline | undefined): WaitingRow[] {
  return (page?.waiting ?? []).flatMap((one) => {
    const job = page?.jobs[one.job];
    if (job === undefined) return [];
    const times = { startP50S: one.start_p50_s, startP90S: one.start_p90_s, finishP50S: one.finish_p50_s, finishP90S: one.finish_p90_s };
    return [{ job, submittedS: job.allocated_at === null ? secondsBetween(page?.since ?? "", job.submitted_at) : null, ...times }];
  });
}

function secondsBetween(from: string, until: string): number {
  return (Date.parse(until) - Date.parse(from)) / 1000;
}

export interface Wait {
  bar: Bar;
  /** Seconds from the timeline's beginning: below 0, it was submitted before. */
  submittedS: number;
  waitedS: number;
  row: number;
}

/** What waited long enough to be seen before bars of one node; each in the first of its bar's rows where it crosses no other. */
export function waitsOf(bars: readonly Bar[], lengthS: number, nRows: (bar: Bar) => number): Wait[] {
  const free = new Map<string, number>();
  const waits = bars.flatMap((bar) => (bar.waitedS === null ? [] : [{ bar, submittedS: bar.sinceS - bar.waitedS, waitedS: bar.waitedS }]));
  const long = waits.filter(({ waitedS }) => waitedS >= LEAST_WAIT * lengthS).sort((one, other) => one.submittedS - other.submittedS);
  return long.map((wait) => {
    const { firstGpu, sinceS } = wait.bar;
    const last = Math.max(1, nRows(wait.bar)) - 1;
    let row = 0;
    while (row < last && (free.get(`${firstGpu} ${row}`) ?? -Infinity) > wait.submittedS) row += 1;
    free.set(`${firstGpu} ${row}`, sinceS);
    return { ...wait, row };
  });
}

/** Organisations in the order of their names: the place is the colour. */
export function organisationsOf(pages: readonly Timeline[]): string[] {
  return [...new Set(pages.flatMap(({ jobs }) => jobs.map(({ organisation }) => organisation)))].sort((a, b) => a.localeCompare(b));
}

/** Who got a preempted job's GPU next on that node, soon after: the API does not name who it made room for. */
export function successorOf(mark: Mark, bars: readonly Bar[]): Bar | undefined {
  if (mark.kind !== "preempted") return undefined;
  const holds = ({ firstGpu, nGpus }: Bar) => firstGpu <= mark.gpu && mark.gpu < firstGpu + nGpus;
  const soon = bars.filter((bar) => holds(bar) && bar.sinceS >= mark.atS && bar.sinceS - mark.atS <= SOON_S);
  return soon.sort((one, other) => one.sinceS - other.sinceS)[0];
}

const CSV_COLUMNS = ["kind", "node", "first_gpu", "n_gpus", "job", "organisation", "since", "until", "predicted_finish_p50", "predicted_finish_p90", "submitted", "pending_s"];

/** A row a bar, a mark and a pending job, with their times; what lies in the future is predicted. A pending job that has not run waited until now. */
export function csvOfTimeline(pages: readonly Timeline[]): string {
  const at = (seconds: number | null) => (seconds === null ? null : new Date(Date.parse(pages[0]?.since ?? "") + 1000 * seconds).toISOString());
  const nodes = nodeRows(pages);
  const bars = nodes.flatMap((node) =>
    node.bars.map((bar) => {
      const times = [at(bar.sinceS), bar.p50S === null ? at(bar.untilS) : null, at(bar.p50S), at(bar.p90S)];
      return ["attempt", node.name, bar.firstGpu, bar.nGpus, barName(bar), bar.job?.organisation, ...times, bar.job?.submitted_at, bar.waitedS];
    }),
  );
  const marks = nodes.flatMap((node) => node.marks.map(({ kind, gpu, name, atS }) => [kind, node.name, gpu, 1, name, null, at(atS), at(atS), null, null, null, null]));
  const pending = waitingRows(pages[0]).map(({ job, submittedS, startP50S, finishP50S, finishP90S }) => {
    const times = [at(startP50S), null, at(finishP50S), at(finishP90S)];
    const waitedS = submittedS === null ? null : secondsBetween(job.submitted_at, pages[0]?.now ?? "");
    return ["pending", null, null, null, job.name, job.organisation, ...times, job.submitted_at, waitedS];
  });
  return csvOf([CSV_COLUMNS, ...bars, ...marks, ...pending]);
}

export function barName({ job, n }: Bar): string {
  if (job !== undefined) return n === 1 ? job.name : t`${job.name}, ${n} attempts`;
  return n === 1 ? t`a job of another organisation` : t`${n} short attempts`;
}

export function gpusText({ firstGpu, nGpus }: Bar): string {
  return nGpus === 1 ? t`GPU ${firstGpu}` : t`GPUs ${firstGpu}–${firstGpu + nGpus - 1}`;
}

const ROUNDED_S = 1; // between what the timeline rounds and what the job has
const LEAST_WAIT = 1 / 300; // of the window: what is shorter is no wider than the mark of its submission
const SOON_S = 900; // what begins later has another cause
const STEPS_S = [300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
const MOST_TICKS = 7;

export interface Tick {
  atS: number;
  label: string;
}

/** Round local times within the window. */
export function ticksOf(since: string, lengthS: number): Tick[] {
  const step = STEPS_S.find((one) => lengthS / one <= MOST_TICKS) ?? 86_400;
  const began = new Date(since);
  const offsetS = began.getTimezoneOffset() * 60;
  const beganS = began.getTime() / 1000;
  const found: Tick[] = [];
  const first = Math.ceil((beganS - offsetS) / step) * step + offsetS;
  for (let at = first; at < beganS + lengthS; at += step) found.push({ atS: at - beganS, label: tickLabel(new Date(at * 1000), step) });
  return found;
}

function tickLabel(at: Date, step: number): string {
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0;
  if (step >= 86_400 || isMidnight) return at.toLocaleDateString(dateLocale(), { day: "numeric", month: "short" });
  return at.toLocaleTimeString(dateLocale(), { hour: "2-digit", minute: "2-digit" });
}
