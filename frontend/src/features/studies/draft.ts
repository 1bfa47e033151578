// SPDX-License-Identifier: Apache-2.0
// What is typed for a new study, the request that it becomes, and the draft that a study would have been made of.
import { isRecord } from "@/api/client";
import type { Study, StudyRequest } from "@/api/types";

const SPACE = `learning_rate: {log_uniform: [0.0001, 0.1]}
weight_decay: {log_uniform: [0.000001, 0.01]}
`;

export const EMPTY = {
  name: "",
  dataset: "",
  model: "",
  epochs: 27 as number | string,
  steps: "" as number | string,
  space: SPACE,
  metric: "eval/accuracy",
  direction: "maximize",
  algorithm: "asha",
  eta: 2 as number | string,
  /** Of ASHA; "": MLHub chooses it. */
  first_rung: "" as number | string,
  seed: 0 as number | string,
  max_trials: 27 as number | string,
  max_parallel: 4 as number | string,
  max_epochs: "" as number | string,
  max_gpu_hours: "" as number | string,
  /** Further settings of the jobs, as JSON. */
  settings: "",
};

export type Draft = typeof EMPTY;

/** The settings that are typed; null: that is no JSON object. */
export function settingsOf({ settings }: Pick<Draft, "settings">): Record<string, unknown> | null {
  if (settings.trim() === "") return {};
  try {
    const found: unknown = JSON.parse(settings);
    return isRecord(found) ? found : null;
  } catch {
    return null;
  }
}

interface Place {
  /** Whether its trials are counted in steps, where it is said how many. */
  isScript: boolean;
  projectId: string;
  /** The study that it is a clone of: of the same dataset and model it takes the same versions. */
  clone: Study | undefined;
}

export function requestOf(draft: Draft, { isScript, projectId, clone }: Place): StudyRequest {
  const steps = isScript ? draft.steps : "";
  const isAsha = draft.algorithm === "asha";
  return {
    name: draft.name.trim(),
    job: {
      ...settingsOf(draft),
      ...versionsOf(draft, clone),
      ...((draft.dataset === "" || clone) && { project: projectId }),
      epochs: Number(draft.epochs),
    },
    ...(steps !== "" && { steps: Number(steps) }),
    ...(isAsha && draft.first_rung !== "" && { [steps === "" ? "min_epochs" : "min_steps"]: Number(draft.first_rung) }),
    space: draft.space,
    metric: draft.metric.trim(),
    direction: draft.direction as StudyRequest["direction"],
    algorithm: draft.algorithm as NonNullable<StudyRequest["algorithm"]>,
    eta: Number(draft.eta),
    seed: Number(draft.seed),
    max_trials: Number(draft.max_trials),
    max_parallel: Number(draft.max_parallel),
    ...(draft.max_epochs !== "" && !isScript && { max_epochs: Number(draft.max_epochs) }),
    ...(draft.max_gpu_hours !== "" && { max_gpu_hours: Number(draft.max_gpu_hours) }),
  };
}

function versionsOf({ dataset, model }: Draft, clone: Study | undefined): Partial<StudyRequest["job"]> {
  const { dataset_version: data, model_version: code } = clone ?? {};
  return {
    ...(dataset !== "" && (data?.dataset.id === dataset ? { dataset_version: data.id } : { dataset })),
    ...(code?.model.id === model ? { model_version: code.id } : { model }),
  };
}

/** The draft of a study with the same request. What was deleted since is to be chosen anew. */
export function draftOf(study: Study): Draft {
  const { epochs, batch_size, max_batch_size, ...rest } = study.settings;
  const batch = max_batch_size === null || max_batch_size === undefined ? batch_size : { min: batch_size, max: max_batch_size };
  const settings = { ...(batch !== undefined && { batch_size: batch }), ...rest };
  const isSteps = study.unit === "steps";
  return {
    name: study.name,
    dataset: study.dataset_version?.dataset.id ?? "",
    model: study.model_version?.model.id ?? "",
    epochs: typeof epochs === "number" ? epochs : EMPTY.epochs,
    steps: isSteps ? (study.rungs.at(-1) ?? "") : "",
    space: spaceText(study.space),
    metric: study.metric,
    direction: study.direction,
    algorithm: study.algorithm,
    eta: study.eta,
    first_rung: study.algorithm === "asha" ? (study.rungs[0] ?? "") : "",
    seed: study.seed,
    max_trials: study.max_trials,
    max_parallel: study.max_parallel,
    max_epochs: study.max_epochs ?? "",
    max_gpu_hours: study.max_gpu_hours ?? "",
    settings: Object.keys(settings).length === 0 ? "" : JSON.stringify(settings, null, 2),
  };
}

/** As one would write it in YAML: a line for each hyperparameter. */
function spaceText(space: Record<string, unknown>): string {
  return Object.entries(space)
    .map(([name, values]) => `${/^[\w.]+$/.test(name) ? name : JSON.stringify(name)}: ${flow(values)}\n`)
    .join("");
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (isRecord(value)) {
    const parts = Object.entries(value).filter(([, part]) => part !== null && part !== undefined && part !== false);
    return `{${parts.map(([name, part]) => `${name}: ${flow(part)}`).join(", ")}}`;
  }
  // a reader of YAML takes 1e-7 for a word
  if (typeof value === "number") return String(value).replace(/^(-?\d+)e/, "$1.0e");
  return JSON.stringify(value);
}
