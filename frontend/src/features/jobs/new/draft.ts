// SPDX-License-Identifier: Apache-2.0
// The new job's form: its draft, the request it makes, and which input an error of the API belongs to.
import { t } from "@lingui/core/macro";

import type { FieldError } from "@/api/client";
import { isRecord } from "@/api/client";
import type { JobSubmit, Mode } from "@/api/types";
import { type PodSetting, POD_SETTINGS, podSettingOf, podSettings } from "@/domain/pods/podSetting";
import { number } from "@/lib/quantities";

import { wordsOf } from "./basics/commandLine";

/** What a file says of a dataset or model more exactly than by its id, such as its version; it counts while that one stays chosen. */
export interface Pin {
  /** The id of the dataset or model. */
  of: string;
  field: "dataset_version" | "model_version" | "model";
  value: string;
}

/** In place of a dataset, for scripts. */
export const NO_DATASET = "none";

/** A dataset that a script finds under a name, besides its own. */
export interface FurtherDataset {
  name: string;
  /** Its id. */
  dataset: string;
}

export interface Draft extends Record<PodSetting, number | string> {
  dataset: string;
  model: string;
  epochs: number | string;
  batch_size: number | string;
  /** Of a script: what its command line gets as it is. */
  arguments: string;
  name: string;
  mode: Mode;
  min_workers: number | string;
  max_workers: number | string;
  hyperparameters: string;
  strategy: string;
  parameters: string;
  target_metric: string;
  target_value: number | string;
  seed: number | string;
  priority: number | string;
  /** Names of types, separated by commas; empty: any. */
  gpu_types: string;
  /** Lines of NAME=value. */
  environment: string;
  /** The reference of a container image; empty: the platform's. */
  image: string;
  /** Names of the project's secrets. */
  secrets: string[];
  datasets: readonly FurtherDataset[];
  /** Of a request that was written as a file: what has no input, by the API's names. It is sent as it is. */
  further: Readonly<Record<string, unknown>>;
  pins: readonly Pin[];
}

export type Field = keyof Draft;
export type Errors = Partial<Record<Field, string>>;

export function emptyDraft(dataset: string, model: string): Draft {
  return {
    dataset,
    model,
    epochs: "",
    batch_size: "",
    arguments: "",
    name: "",
    mode: "auto",
    min_workers: "",
    max_workers: "",
    hyperparameters: "",
    strategy: "",
    parameters: "",
    target_metric: "",
    target_value: "",
    seed: "",
    priority: "",
    cpus: "",
    memory_gib: "",
    n_servers: "",
    server_memory_gib: "",
    n_workers: "",
    stall_s: "",
    gpu_types: "",
    environment: "",
    image: "",
    secrets: [],
    datasets: [],
    further: {},
    pins: [],
  };
}

const NUMBERS = [
  "epochs", "batch_size", "min_workers", "max_workers", "seed", "priority", "target_value",
] as const;
const SIMPLE: readonly Field[] = ["dataset", "model", "epochs", "batch_size", "arguments"];

export function isAdvanced(field: Field): boolean {
  return !SIMPLE.includes(field);
}

/** What can be seen to be wrong without asking the API. */
export function check(draft: Draft): Errors {
  const errors: Errors = {};
  if (draft.dataset === "") errors.dataset = t`Choose a dataset.`;
  if (draft.model === "") errors.model = t`Choose a model.`;
  for (const field of ["epochs", "batch_size"] as const) {
    if (draft[field] !== "" && !(Number(draft[field]) >= 1)) errors[field] = t`At least 1.`;
  }
  if (parsed(draft.hyperparameters) === null) {
    errors.hyperparameters = notAnObject('{"learning_rate": 0.01}');
  }
  if (parsed(draft.parameters) === null) {
    errors.parameters = notAnObject('{"staleness": 3}');
  }
  if (wordsOf(draft.arguments) === null) errors.arguments = t`A quotation mark is not closed.`;
  const wrong = linesOf(draft.environment).find((line) => !/^[A-Za-z_]\w*=/.test(line));
  if (wrong !== undefined) errors.environment = t`"${wrong}" is not NAME=value.`;
  if (!draft.datasets.every(({ name, dataset }) => name.trim() !== "" && dataset !== "")) {
    errors.datasets = t`Give each a name and a dataset.`;
  }
  const [min, max] = [whole(draft.min_workers), whole(draft.max_workers)];
  if (min !== undefined && max !== undefined && min > max) errors.max_workers = t`Not below the fewest workers.`;
  if (draft.target_value !== "" && draft.target_metric.trim() === "") {
    errors.target_metric = t`Name the metric that should reach this value.`;
  }
  for (const name of podSettings) {
    const { min, max, unit } = POD_SETTINGS[name];
    const value = whole(draft[name]);
    if (value !== undefined && !(value >= min && value <= max)) {
      errors[name] = t`From ${number(min)} to ${number(max)} ${unit}.`;
    }
  }
  return errors;
}

/**
 * Leaves out what was left empty, so that the API's own defaults count. Only for a draft without errors.
 * project: of a script without a dataset.
 */
export function requestOf(draft: Draft, project?: string): JobSubmit {
  const data = draft.dataset === NO_DATASET ? { project, ...projectOf(draft.further) } : pinned(draft, "dataset");
  const request: JobSubmit = { ...draft.further, ...data, ...pinned(draft, "model"), mode: draft.mode };
  const named = draft.datasets.map(({ name, dataset }) => [name.trim(), dataset]);
  if (named.length > 0) request.datasets = Object.fromEntries(named) as Record<string, string>;
  if (draft.name.trim() !== "") request.name = draft.name.trim();
  if (draft.image.trim() !== "") request.image = draft.image.trim();
  const words = wordsOf(draft.arguments) ?? [];
  const hyperparameters = { ...parsed(draft.hyperparameters), ...(words.length > 0 && { arguments: words }) };
  if (Object.keys(hyperparameters).length > 0) request.hyperparameters = hyperparameters;
  if (draft.strategy !== "") request.strategy = { name: draft.strategy, ...parsed(draft.parameters) };
  if (draft.target_metric.trim() !== "") request.target_metric = draft.target_metric.trim();
  for (const field of NUMBERS) {
    const value = whole(draft[field]);
    if (value !== undefined) request[field] = value;
  }
  for (const name of podSettings) {
    const value = whole(draft[name]);
    const { group } = POD_SETTINGS[name];
    if (value !== undefined) request[group] = { ...request[group], [name]: value };
  }
  const types = draft.gpu_types.split(",").map((name) => name.trim()).filter((name) => name !== "");
  if (types.length > 0) request.resources = { ...request.resources, gpu_types: types };
  const variables = Object.fromEntries(linesOf(draft.environment).map(variableOf));
  if (Object.keys(variables).length > 0) request.environment = { ...request.environment, ...variables };
  if (draft.secrets.length > 0) request.secrets = draft.secrets;
  return request;
}

/** The API names what it found in its own words: versions, nested hyperparameters. */
export function fieldOf(error: FieldError): Field | null {
  const name = error.field.split(".")[0] ?? "";
  if (name === "dataset_version") return "dataset";
  if (name === "model_version") return "model";
  const setting = podSettingOf(error.field);
  if (setting !== null) return setting;
  if (error.field.startsWith("resources.gpu_types")) return "gpu_types";
  if (error.field.startsWith("hyperparameters.arguments")) return "arguments";
  if (error.field.startsWith("strategy.") && error.field !== "strategy.name") return "parameters";
  return name in emptyDraft("", "") ? (name as Field) : null;
}

/** The API's errors at their inputs, each with its remedy. */
export function errorsAt(found: readonly FieldError[]): Errors {
  const errors: Errors = {};
  for (const error of found) {
    const field = fieldOf(error);
    if (field === null) continue;
    const isNested = error.field.includes(".") && podSettingOf(error.field) === null && field !== "gpu_types";
    const part = isNested ? `${error.field.slice(error.field.indexOf(".") + 1)}: ` : "";
    const words = [part + error.message, error.remedy].filter(Boolean).join(" ");
    errors[field] = errors[field] === undefined ? words : `${errors[field]} ${words}`;
  }
  return errors;
}

/** The number of workers when it is fixed; null: MLHub chooses. */
export function sizeOf({ min_workers: min, max_workers: max }: Draft): number | null {
  return min !== "" && Number(min) === Number(max) ? Number(min) : null;
}

/** A key that makes a repeated POST harmless; crypto.randomUUID is missing on plain http. */
export function newKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The dataset or the model, as exactly as the file that it is of says it. */
function pinned(draft: Draft, name: "dataset" | "model"): Partial<JobSubmit> {
  const pin = pinOf(draft, name);
  return pin === undefined ? { [name]: draft[name] } : { [pin.field]: pin.value };
}

export function pinOf(draft: Draft, name: "dataset" | "model"): Pin | undefined {
  return draft.pins.find(({ field, of }) => field.startsWith(name) && of === draft[name]);
}

function projectOf({ project }: Draft["further"]): Pick<JobSubmit, "project"> {
  return typeof project === "string" ? { project } : {};
}

function whole(value: number | string): number | undefined {
  return value === "" ? undefined : Number(value);
}

function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

function variableOf(line: string): [name: string, value: string] {
  const end = line.indexOf("=");
  return [line.slice(0, end), line.slice(end + 1)];
}

/** The object, {} when empty, null when it is not one. */
export function parsed(text: string): Record<string, unknown> | null {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function notAnObject(example: string): string {
  return t`This is not a JSON object. Write it like ${example}.`;
}
