// SPDX-License-Identifier: Apache-2.0
// The form as it would have been filled in for a request of the API: the inverse of requestOf.
import { isRecord } from "@/api/client";
import type { Mode } from "@/api/types";
import { POD_SETTINGS, podSettings } from "@/domain/pods/podSetting";

import { lineOf } from "../basics/commandLine";
import { type Draft, type Pin, emptyDraft } from "../draft";

type Values = Readonly<Record<string, unknown>>;

const TEXTS = ["name", "target_metric", "image"] as const;
const NUMBERS = ["epochs", "batch_size", "min_workers", "max_workers", "target_value", "seed", "priority"] as const;
const OWN: ReadonlySet<string> = new Set([
  ...TEXTS, ...NUMBERS, "dataset", "model", "mode", "hyperparameters", "strategy", "resources", "limits", "environment", "secrets", "datasets",
]);

/** A line of the form holds one variable, without spaces around it. */
const fitsLine = (value: unknown) => !/^\s|\s$|[\n\r]/.test(String(value));

/** null counts as left out. What has no input is kept in `further`, also of resources, limits and variables. */
export function draftOfRequest(request: Values, pins: readonly Pin[] = []): Draft {
  const draft = emptyDraft(text(request.dataset), text(request.model));
  for (const name of TEXTS) draft[name] = text(request[name]);
  const batch = isRecord(request.batch_size) ? request.batch_size : { min: request.batch_size };
  for (const name of NUMBERS) draft[name] = numeric(name === "batch_size" ? batch.min : request[name]);
  const asked = { resources: record(request.resources), limits: record(request.limits) };
  for (const name of podSettings) draft[name] = numeric(asked[POD_SETTINGS[name].group][name]);
  const all = { ...record(request.hyperparameters), ...(batch.max !== undefined && { max_batch_size: batch.max }) };
  const { arguments: given, ...hyperparameters } = all as Record<string, unknown>;
  const words = Array.isArray(given) ? given.map(String) : null;
  const { name: strategy, ...parameters } = record(request.strategy);
  return {
    ...draft,
    mode: (text(request.mode) || "auto") as Mode,
    arguments: words === null ? "" : lineOf(words),
    hyperparameters: written(words === null ? all : hyperparameters),
    strategy: text(strategy),
    parameters: written(parameters),
    gpu_types: (Array.isArray(asked.resources.gpu_types) ? asked.resources.gpu_types : []).join(", "),
    environment: Object.entries(record(request.environment)).filter(([, value]) => fitsLine(value)).map(([name, value]) => `${name}=${String(value)}`).join("\n"),
    secrets: (Array.isArray(request.secrets) ? request.secrets : []).map(String),
    datasets: Object.entries(record(request.datasets)).map(([name, dataset]) => ({ name, dataset: String(dataset) })),
    further: furtherOf(request, asked),
    pins,
  };
}

function furtherOf(request: Values, asked: Record<"resources" | "limits", Values>): Values {
  const further: Record<string, unknown> = Object.fromEntries(Object.entries(request).filter(([name, value]) => !OWN.has(name) && value !== null));
  for (const [group, values] of Object.entries(asked)) {
    const rest = Object.entries(values).filter(([name, value]) => !(podSettings as readonly string[]).includes(name) && name !== "gpu_types" && value !== null);
    if (rest.length > 0) further[group] = Object.fromEntries(rest);
  }
  const unfit = Object.entries(record(request.environment)).filter(([, value]) => !fitsLine(value));
  if (unfit.length > 0) further.environment = Object.fromEntries(unfit);
  return further;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numeric(value: unknown): number | "" {
  return typeof value === "number" ? value : "";
}

function record(value: unknown): Values {
  return isRecord(value) ? value : {};
}

function written(values: Values): string {
  return Object.keys(values).length === 0 ? "" : JSON.stringify(values, null, 2);
}
