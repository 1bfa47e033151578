// SPDX-License-Identifier: Apache-2.0
// The form as a job file in YAML, as `mlhub run` takes it, and back: nothing is lost on either way.
import { t } from "@lingui/core/macro";
import { CORE_SCHEMA, YAMLException, dump, load, types } from "js-yaml";

import { Problem, api, isRecord, unwrap } from "@/api/client";
import type { JobSubmit } from "@/api/types";
import { POD_SETTINGS, podSettings } from "@/domain/pods/podSetting";

import type { Draft, Pin } from "../draft";
import { draftOfRequest } from "./requestDraft";

/** As `mlhub run` reads it: a date is a text. */
const SCHEMA = CORE_SCHEMA.extend({ implicit: [types.merge] });
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** NAME:3 and NAME@ALIAS. */
const VERSION = /^(.+?)(?::[0-9]+|@[^@]*)$/;
const TEXTS = ["name", "mode", "target_metric", "image", "dataset", "model", "dataset_version", "model_version", "project", "kind"];
const NUMBERS = ["epochs", "min_workers", "max_workers", "target_value", "seed", "priority"];
const OBJECTS = ["hyperparameters", "strategy", "resources", "limits", "environment", "datasets"];
const LISTS = ["secrets"];
/** Files next to the job file. */
const BROUGHT = ["data", "format", "code", "entry", "requirements", "target"];

export function fileText(request: JobSubmit): string {
  const fields: [string, unknown][] = Object.entries(request);
  const given = fields.filter(([name, value]) => value !== "" && value !== undefined && !(name === "mode" && value === "auto"));
  return given.length === 0 ? "" : dump(Object.fromEntries(given), { lineWidth: 120, noRefs: true, schema: SCHEMA });
}

export type ReadFile = { draft: Draft; problems: readonly [] } | { problems: readonly string[] };

/** All that is wrong with it at once; datasets and models by name or id. */
export async function readFile(text: string): Promise<ReadFile> {
  const content = contentOf(text);
  if (typeof content === "string") return { problems: [content] };
  const problems = wrongTypes(content);
  const pins: Pin[] = [];
  const request: Record<string, unknown> = { ...content };
  for (const name of ["dataset", "model"] as const) {
    const version = content[`${name}_version`];
    delete request[`${name}_version`];
    const found = typeof version === "string" ? await ofVersion(name, version) : await ofName(name, content[name]);
    if (typeof found === "string") problems.push(found);
    else if (found !== undefined) {
      request[name] = found.of;
      if (found.pin) pins.push(found.pin);
    }
    if (typeof version === "string" && typeof content[name] === "string") problems.push(t`${name}: give either it or its version.`);
  }
  return problems.length > 0 ? { problems } : { draft: draftOfRequest(request, pins), problems: [] };
}

/** A sentence where it is no job file. */
function contentOf(text: string): Record<string, unknown> | string {
  let content: unknown;
  try {
    content = load(text, { schema: SCHEMA });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return t`Line ${(error.mark?.line ?? 0) + 1}: ${error.reason}.`;
  }
  if (content === undefined || content === null) return {};
  return isRecord(content) ? content : t`Write fields and values, such as epochs: 10.`;
}

function wrongTypes(content: Record<string, unknown>): string[] {
  const problems: string[] = [];
  const expect = (values: Record<string, unknown>, names: readonly string[], isRight: (value: unknown) => boolean, sentence: (name: string) => string, above = "") => {
    for (const name of names) {
      const value = values[name];
      if (value !== undefined && value !== null && !isRight(value)) problems.push(sentence(above + name));
    }
  };
  const isText = (value: unknown) => typeof value === "string";
  const isNumber = (value: unknown) => typeof value === "number";
  const notText = (name: string) => t`${name}: this is not a text; put it in quotation marks.`;
  const notNumber = (name: string) => t`${name}: this is not a number.`;
  const notList = (name: string) => t`${name}: write a list.`;
  expect(content, TEXTS, isText, notText);
  expect(content, NUMBERS, isNumber, notNumber);
  expect(content, ["batch_size"], (value) => isNumber(value) || isRange(value), (name) => t`${name}: write a number, or min and max below it.`);
  expect(content, OBJECTS, isRecord, (name) => t`${name}: write names and values below it.`);
  expect(content, LISTS, Array.isArray, notList);
  const inner = (name: string) => (isRecord(content[name]) ? content[name] : {});
  for (const name of podSettings) {
    const { group } = POD_SETTINGS[name];
    expect(inner(group), [name], isNumber, notNumber, `${group}.`);
  }
  expect(inner("resources"), ["gpu_types"], Array.isArray, notList, "resources.");
  expect(inner("environment"), Object.keys(inner("environment")), isText, notText, "environment.");
  if (Object.keys(inner("strategy")).length > 0) expect({ name: "", ...inner("strategy") }, ["name"], (name) => isText(name) && name !== "", (name) => t`${name}: name the strategy.`, "strategy.");
  for (const path of infinite(content)) problems.push(t`${path}: this is not a finite number.`);
  if (typeof content.kind === "string" && content.kind !== "train") problems.push(t`kind: this form starts trainings. mlhub run takes this file; predictions start on a job's page, notebooks on the page Jobs.`);
  for (const name of BROUGHT) {
    if (content[name] !== undefined) problems.push(t`${name}: this page cannot read files next to the job file. Upload them under Datasets and Models and name these, or let mlhub run take this file.`);
  }
  return problems;
}

function isRange(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { min, max, ...others } = value;
  return typeof min === "number" && typeof max === "number" && Object.keys(others).length === 0;
}

/** Where JSON would write null in place of a number. */
function infinite(value: unknown, path = ""): string[] {
  if (typeof value === "number") return Number.isFinite(value) ? [] : [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => infinite(one, path === "" ? name : `${path}.${name}`));
}

/** The id of the dataset or model, and what is said of it beyond that. */
interface Found {
  of: string;
  pin?: Pin;
}

/** A sentence where there is none; undefined where nothing is given. */
async function ofName(field: "dataset" | "model", given: unknown): Promise<Found | string | undefined> {
  if (typeof given !== "string" || given === "") return undefined;
  if (ID.test(given)) return { of: given };
  const name = field === "model" ? VERSION.exec(given)?.[1] ?? given : given;
  const found = await idsOf(field, name);
  if (found.length > 1) return t`${field}: ${given} is the name of several; give the id.`;
  const [id] = found;
  if (id === undefined) return t`${field}: there is none of the name ${given}.`;
  return field === "model" && name !== given ? { of: id, pin: { of: id, field: "model", value: given } } : { of: id };
}

async function ofVersion(field: "dataset" | "model", id: string): Promise<Found | string> {
  try {
    const of = ID.test(id) ? await ownerOf(field, id) : undefined;
    if (of !== undefined) return { of, pin: { of, field: `${field}_version`, value: id } };
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404)) throw error;
  }
  return t`${field}_version: there is none of the id ${id}.`;
}

async function ownerOf(field: "dataset" | "model", id: string): Promise<string> {
  const params = { params: { path: { id } } };
  if (field === "dataset") return (await unwrap(api.GET("/api/v1/dataset-versions/{id}", params))).dataset.id;
  return (await unwrap(api.GET("/api/v1/model-versions/{id}", params))).model.id;
}

/** Of those with exactly this name, two at most: each project may have one. */
async function idsOf(field: "dataset" | "model", name: string): Promise<string[]> {
  const named = { name, limit: 2 };
  const { results } =
    field === "dataset"
      ? await unwrap(api.GET("/api/v1/datasets", { params: { query: named } }))
      : await unwrap(api.GET("/api/v1/models", { params: { query: { ...named, ready: true } } }));
  return results.map(({ id }) => id);
}
