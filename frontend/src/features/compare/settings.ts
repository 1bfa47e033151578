// SPDX-License-Identifier: Apache-2.0
// What jobs were asked to do, as one flat row of names and values each, so that rows can be laid next to each other.
import { t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import type { JobState, RunStatus } from "@/api/types";
import { modeLabel } from "@/domain/mode";

import type { ComparedJob } from "./queries";
import type { ComparedRun } from "./runs";

export type Value = string | number | null;
export type Settings = ReadonlyMap<string, Value>;

/** A job, or a run from elsewhere, as a row of the page. */
export type Compared = { id: string; name: string; settings: Settings; results: Settings } & (
  | { kind: "job"; state: JobState }
  | { kind: "run"; state: RunStatus }
);

export function rowOfJob(job: ComparedJob): Compared {
  const { id, name, state } = job;
  return { kind: "job", id, name, state, settings: settingsOf(job), results: resultsOf(job) };
}

/** What jobs have, by name. Looked up once: a thousand jobs would ask the catalogue a thousand times each. */
const NAMES = {
  epochs: t`Epochs`,
  batchSize: t`Batch size`,
  seed: t`Seed`,
  mode: t`Mode`,
  fewest: t`Fewest workers`,
  most: t`Most workers`,
  priority: t`Priority`,
  data: t`Data`,
  code: t`Code`,
  gpuHours: t`GPU-hours`,
  trained: t`Training (s)`,
};
const NO_DATASET = t`No dataset`;
/** Parameters of runs that are settings of jobs. */
const SAME: Readonly<Record<string, string>> = { epochs: NAMES.epochs, batch_size: NAMES.batchSize, seed: NAMES.seed };

/** A parameter with the name of a setting of jobs is that setting; what is written as a number is one. */
export function rowOfRun({ id, name, status, params, metrics }: ComparedRun): Compared {
  const settings = Object.entries(params).map(([key, value]): [string, Value] => [SAME[key] ?? key, valueOf(value)]);
  return { kind: "run", id, name, state: status, settings: new Map(settings), results: new Map(Object.entries(metrics)) };
}

/** Settings and results of a row under their names. */
export function valuesOf({ settings, results }: Compared): Settings {
  return new Map([...settings, ...results]);
}

/** Such as "Epochs", "hyperparameters.learning_rate", "Code". */
export function settingsOf(job: ComparedJob): Settings {
  const { dataset_version: data, model_version: model } = job;
  return new Map<string, Value>([
    ...nested("", job.hyperparameters),
    [NAMES.epochs, job.epochs],
    [NAMES.batchSize, job.batch_size],
    [NAMES.seed, job.seed],
    [NAMES.mode, modeLabel(job.mode)],
    ...nested("strategy.", job.strategy),
    [NAMES.fewest, job.min_workers],
    [NAMES.most, job.max_workers],
    ...nested("resources.", job.resources),
    [NAMES.priority, job.priority],
    [NAMES.data, data === null ? NO_DATASET : `${data.dataset.name} v${data.number}`],
    [NAMES.code, `${model.model.name} v${model.number}`],
  ]);
}

/** What jobs reached, by name: their last metrics, GPU-hours and seconds of training. */
function resultsOf(job: ComparedJob): Settings {
  return new Map<string, Value>([
    ...nested("", job.result_metrics),
    [NAMES.gpuHours, job.gpu_hours],
    [NAMES.trained, job.trained_s],
  ]);
}

/** All names in the order in which they first come; onlyDifferent: those whose value is not the same everywhere. */
export function namesOf(rows: readonly Settings[], onlyDifferent: boolean): string[] {
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  if (!onlyDifferent) return names;
  return names.filter((name) => new Set(rows.map((row) => row.get(name) ?? null)).size > 1);
}

/** A setting or result as an axis: of what is no number the values are places among its options. */
export interface Column {
  name: string;
  values: (number | null)[];
  options?: string[];
}

const MOST_OPTIONS = 24; // more texts, such as ids, tell nothing on an axis

/** Those by which rows can be drawn: not the same in all, and numbers or few texts. */
export function columnsOf(rows: readonly Settings[]): Column[] {
  return namesOf(rows, true).flatMap((name): Column[] => {
    const values = rows.map((row) => row.get(name) ?? null);
    const options = [...new Set(values.filter((value) => value !== null))];
    if (options.length < 2) return [];
    if (options.every((value) => typeof value === "number")) return [{ name, values: values.map((value) => (typeof value === "number" ? value : null)) }];
    if (options.length > MOST_OPTIONS) return [];
    const texts = options.map(String).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return [{ name, values: values.map((value) => (value === null ? null : texts.indexOf(String(value)))), options: texts }];
  });
}

function valueOf(text: string): Value {
  const number = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : text;
}

function nested(prefix: string, json: unknown): [string, Value][] {
  if (!isRecord(json)) return [];
  return Object.entries(json).map(([name, value]) => [
    `${prefix}${name}`,
    typeof value === "number" || typeof value === "string" || value === null ? value : JSON.stringify(value),
  ]);
}
