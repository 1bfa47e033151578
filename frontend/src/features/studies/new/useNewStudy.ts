// SPDX-License-Identifier: Apache-2.0
// What is typed for a new study, what of it the server refused, and how it is sent.
import { type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { modelChoices, useChosen } from "@/api/choices";
import { type FieldError, Problem } from "@/api/client";
import type { Study } from "@/api/types";
import { type Draft, requestOf, settingsOf } from "@/features/studies/draft";
import { useCreateStudy } from "@/features/studies/queries";

const AT_FIELDS = [
  "name", "metric", "steps", "min_steps", "min_epochs", "eta", "seed", "max_trials", "max_parallel", "max_epochs", "max_gpu_hours",
  "job.dataset", "job.model", "job.epochs",
];

/** What the parts of the form work on. */
export interface StudyFields {
  draft: Draft;
  /** Whether its model is a script, whose trials are counted in steps. */
  isScript: boolean;
  /** What the server said of the first of these fields that it refused. */
  errorAt: (...fields: string[]) => string | undefined;
  onChange: (part: Partial<Draft>) => void;
}

export function useNewStudy(begun: Draft, clone: Study | undefined) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>(begun);
  const create = useCreateStudy();
  const model = useChosen(modelChoices, draft.model);
  const isScript = model === undefined ? clone?.unit === "steps" || clone?.has_dataset === false : model.latest_version?.kind === "script";
  const errors = create.error instanceof Problem ? create.error.errors : [];
  const at = (...fields: string[]) => errors.find(({ field }) => fields.some((one) => field === one || field.startsWith(`${one}.`)));
  const settings = settingsOf(draft);
  const settingsError = errors.find(({ field }) => field.startsWith("job.") && !AT_FIELDS.includes(field));
  const fields: StudyFields = {
    draft,
    isScript,
    errorAt: (...names) => {
      const error = at(...names);
      return error && textOf(error);
    },
    onChange: (part) => setDraft((known) => ({ ...known, ...part })),
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (settings === null) return;
    const projectId = clone?.project.id ?? model?.project?.id ?? "";
    create.mutate(requestOf(draft, { isScript, projectId, clone }), { onSuccess: ({ id }) => void navigate(`/studies/${id}`) });
  };
  return {
    fields,
    submit,
    error: create.error,
    /** Fields whose errors stand at their inputs. */
    atFields: [...AT_FIELDS, ...[at("space"), settingsError].flatMap((error) => error?.field ?? [])],
    /** Of the further settings: whether they are no JSON object, or what the server said of one of them. */
    isNoObject: settings === null,
    settingsError: settingsError && `${settingsError.field}: ${textOf(settingsError)}`,
    isPending: create.isPending,
  };
}

function textOf({ message, remedy }: FieldError): string {
  return [message, remedy].filter(Boolean).join(" ");
}
