// SPDX-License-Identifier: Apache-2.0
// The form as a job file in YAML, as `mlhub run` takes it, and back: nothing is lost on either way.
import { t } from "@lingui/core/macro";
import { YAMLException, dump, load } from "js-yaml";

import { datasetChoices, modelChoices } from "@/api/choices";
import { isRecord } from "@/api/client";
import type { JobSubmit } from "@/api/types";

import type { Draft } from "../draft";
import { draftOfRequest } from "./requestDraft";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TEXTS = ["name", "mode", "target_metric", "dataset", "model"];
const NUMBERS = ["epochs", "batch_size", "min_workers", "max_workers", "target_value", "seed", "priority"];
const OBJECTS = ["hyperparameters", "strategy", "resources", "limits", "environment", "datasets"];
const LISTS = ["secrets"];

export function fileText(request: JobSubmit): string {
  const given = Object.entries(request).filter(([name, value]) => value !== "" && !(name === "mode" && value === "auto"));
  return given.length === 0 ? "" : dump(Object.fromEntries(given), { lineWidth: 120, noRefs: true });
}

export type ReadFile = { draft: Draft; problems: readonly [] } | { problems: readonly string[] };

/** All that is wrong with it at once; datasets and models by name or id. */
export async function readFile(text: string): Promise<ReadFile> {
  const content = contentOf(text);
  if (typeof content === "string") return { problems: [content] };
  const problems = wrongTypes(content);
  const request: Record<string, unknown> = { ...content };
  for (const [name, source] of [["dataset", datasetChoices], ["model", modelChoices]] as const) {
    const given = content[name];
    if (typeof given !== "string" || ID.test(given) ) continue;
    const found = await idsOf(source.read, given);
    if (found.length === 1) request[name] = found[0];
    else problems.push(found.length === 0 ? t`${name}: there is none of the name ${given}.` : t`${name}: ${given} is the name of several; give the id.`);
  }
  return problems.length > 0 ? { problems } : { draft: draftOfRequest(request), problems: [] };
}

/** A sentence where it is no job file. */
function contentOf(text: string): Record<string, unknown> | string {
  let content: unknown;
  try {
    content = load(text);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return t`Line ${(error.mark?.line ?? 0) + 1}: ${error.reason}.`;
  }
  if (content === undefined || content === null) return {};
  return isRecord(content) ? content : t`Write fields and values, such as epochs: 10.`;
}

function wrongTypes(content: Record<string, unknown>): string[] {
  const problems: string[] = [];
  const expect = (names: readonly string[], isRight: (value: unknown) => boolean, sentence: (name: string) => string) => {
    for (const name of names) {
      const value = content[name];
      if (value !== undefined && value !== null && !isRight(value)) problems.push(sentence(name));
    }
  };
  expect(TEXTS, (value) => typeof value === "string", (name) => t`${name}: this is not a text; put it in quotation marks.`);
  expect(NUMBERS, (value) => typeof value === "number", (name) => t`${name}: this is not a number.`);
  expect(OBJECTS, isRecord, (name) => t`${name}: write names and values below it.`);
  expect(LISTS, Array.isArray, (name) => t`${name}: write a list.`);
  for (const name of ["dataset_version", "model_version"]) {
    if (content[name] !== undefined) problems.push(t`${name}: a new job has the newest version; name the dataset or the model. Clone keeps versions, and mlhub run takes this file.`);
  }
  return problems;
}

interface Named {
  id: string;
  name: string;
}

async function idsOf(read: (query: { search: string; limit: number }) => Promise<{ results: Named[] }>, name: string): Promise<string[]> {
  const { results } = await read({ search: name, limit: 50 });
  return results.filter((one) => one.name === name).map(({ id }) => id);
}
