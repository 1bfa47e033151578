// SPDX-License-Identifier: Apache-2.0
// The form that uploads a new version of a model.
import { useState } from "react";

import type { ModelVersion } from "@/api/types";
import { UploadForm } from "@/components/form/upload/UploadForm";
import { CodeFields, codeFields, type CodeValues, NO_CODE } from "@/features/models/CodeFields";

export interface NewVersionProps {
  modelId: string;
  /** Of the model. */
  projectId: string;
  /** The version before, most likely of the same kind and with the same entry. */
  latest: ModelVersion | null;
  onUploaded: (version: ModelVersion) => void;
}

export function NewVersionForm({ modelId, projectId, latest, onUploaded }: NewVersionProps) {
  const [values, setValues] = useState<CodeValues>(() => ({ ...NO_CODE, ...likeBefore(latest) }));
  return (
    <UploadForm<ModelVersion>
      path={`/api/v1/models/${modelId}/versions`}
      project={projectId}
      fields={codeFields(values)}
      touches={["model", "models"]}
      onUploaded={onUploaded}
    >
      {(sending) => <CodeFields values={values} onChange={setValues} {...sending} />}
    </UploadForm>
  );
}

function likeBefore(latest: ModelVersion | null): Partial<CodeValues> {
  if (latest?.state !== "ready" || (latest.kind !== "script" && latest.kind !== "package")) return {};
  return { kind: latest.kind, entry: latest.entry };
}
