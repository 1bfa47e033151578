// SPDX-License-Identifier: Apache-2.0
// What is chosen and typed for a new job, what of it is wrong, and how it is sent.
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import { choicesQuery, datasetChoices, modelChoices, useChosen } from "@/api/choices";
import { Problem } from "@/api/client";
import type { Dataset, Job, Model } from "@/api/types";
import { hasTargets, isReady, isScript } from "@/features/jobs/queries";
import { useSubmitJob } from "@/features/jobs/useSubmitJob";

import { type Draft, type Errors, NO_DATASET, check, emptyDraft, errorsAt, isAdvanced, requestOf } from "../draft";

/** How long nothing is typed before the scheduler is asked what would become of it. */
const SETTLED_MS = 600;

/** A job whose settings the form begins with, and which it is sent as a clone of. */
export interface Clone {
  id: string;
  name: string;
  draft: Draft;
  /** Starts a job with the settings of the form, of the same versions of data and model. */
  send: (draft: Draft) => Promise<Job>;
}

/** Texts that hold several values: while one cannot be read, a file cannot say it. */
const WRITTEN = ["hyperparameters", "parameters", "arguments", "environment"] as const;

/** What the parts of the form work on. */
export interface JobFields {
  draft: Draft;
  errors: Errors;
  onChange: (part: Partial<Draft>) => void;
}

/** What of the draft is there, and may be trained. */
function useChoice(draft: Draft) {
  const offered = useQuery(choicesQuery(datasetChoices)).data;
  const isNothingReady = offered !== undefined && !offered.next && !offered.results.some(isTrainable);
  const dataset = useChosen(datasetChoices, draft.dataset === NO_DATASET ? "" : draft.dataset);
  const fitting = dataset?.latest_version?.builtin_models ?? [];
  const known = useQuery(choicesQuery(modelChoices)).data?.results ?? [];
  const suggested = known.find(({ name, project }) => project === null && name === fitting[0]);
  const model = readyOne(useChosen(modelChoices, draft.model || (suggested?.id ?? "")));
  const mayDoWithout = model !== undefined && isScript(model);
  const isWithout = mayDoWithout && (draft.dataset === NO_DATASET || draft.dataset === "");
  const chosen = isWithout ? NO_DATASET : dataset && isTrainable(dataset) ? dataset.id : undefined;
  const project = (chosen === dataset?.id ? dataset?.project : undefined) ?? model?.project;
  /** Built-in models that cannot be trained on this data are left out, but for the one that is chosen. */
  const isModelOffered = (one: Model) =>
    isReady(one) && (one.project !== null || fitting.length === 0 || fitting.includes(one.name) || one.id === model?.id);
  const isSuggested = draft.model === "" && model !== undefined && model.id === suggested?.id;
  return { isNothingReady, mayDoWithout, dataset: chosen ?? "", model: model?.id ?? "", isModelOffered, isSuggested, project };
}

/** What a job of this draft would be, once nothing more is typed; null: it is not complete. */
function useSettledRequest(complete: Draft, projectId: string | undefined) {
  const [settled] = useDebouncedValue(complete, SETTLED_MS);
  return Object.keys(check(settled)).length === 0 ? requestOf(settled, projectId) : null;
}

export function useNewJob(clone: Clone | undefined) {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(() => clone?.draft ?? emptyDraft(search.get("dataset") ?? "", search.get("model") ?? ""));
  const [errors, setErrors] = useState<Errors>({});
  const [isFile, setFile] = useState(false);
  const [isSettled, setSettled] = useState(true);
  const [isOpen, advanced] = useDisclosure(clone !== undefined);
  const isClone =
    clone !== undefined && (["dataset", "model", "datasets", "pins"] as const).every((name) => isSame(draft[name], clone.draft[name]));
  const submit = useSubmitJob(isClone ? () => clone.send(draft) : undefined);
  const choice = useChoice(draft);
  const complete = {
    ...draft,
    dataset: choice.dataset,
    model: choice.model,
    arguments: choice.mayDoWithout ? draft.arguments : "", // of a script that was chosen before
  };
  const asked = useSettledRequest(complete, choice.project?.id);
  const onChange = (part: Partial<Draft>) => {
    setDraft((known) => ({ ...known, ...part }));
    setErrors((known) => Object.fromEntries(Object.entries(known).filter(([field]) => !(field in part))));
  };
  const show = (found: Errors) => {
    setErrors(found);
    if ((Object.keys(found) as (keyof Draft)[]).some(isAdvanced)) advanced.open();
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isSettled) return;
    const found = check(complete);
    show(found);
    if (Object.keys(found).length > 0) return;
    submit.mutate(requestOf(complete, choice.project?.id), {
      onSuccess: (job) => void navigate(`/jobs/${job.id}`),
      onError: (error) => show(error instanceof Problem ? errorsAt(error.errors) : {}),
    });
  };
  /** What would be lost on the way to a file is shown instead; what cannot be read of the file keeps it open. */
  const showFile = (shown: boolean) => {
    const found = check(draft);
    const lost = WRITTEN.filter((name) => found[name] !== undefined);
    if (shown && lost.length > 0) show(found);
    else if (isSettled) setFile(shown);
  };
  const file = {
    isShown: isFile,
    show: showFile,
    request: requestOf(complete, choice.project?.id),
    isSettled,
    onSettled: setSettled,
    onDraft: (written: Draft) => {
      setDraft(written);
      setErrors({});
    },
  };
  const fields: JobFields = { draft, errors, onChange };
  return { fields, choice, isClone, asked, send, submit, file, advanced: { isOpen, toggle: advanced.toggle } };
}

/** Of what was read from a file anew, too. */
function isSame(one: Draft[keyof Draft], other: Draft[keyof Draft]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function isTrainable(dataset: Dataset): boolean {
  return isReady(dataset) && hasTargets(dataset);
}

function readyOne(model: Model | undefined): Model | undefined {
  return model !== undefined && isReady(model) ? model : undefined;
}
