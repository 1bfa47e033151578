// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that upload a new version of a model's code.
import { useState } from "react";

import type { ModelVersion } from "@/api/types";
import { UploadDialog } from "@/components/form/UploadDialog";
import { UploadForm } from "@/components/form/UploadForm";
import { CodeFields, codeFields, type CodeValues, NO_CODE } from "@/features/models/CodeFields";

interface Props {
  modelId: string;
  /** The version before, most likely of the same kind and with the same entry. */
  latest: ModelVersion | null;
  onUploaded: (version: ModelVersion) => void;
}

export function NewVersion({ onUploaded, ...rest }: Props) {
  return (
    <UploadDialog label="Upload a new version">
      {(close) => (
        <Form
          {...rest}
          onUploaded={(version) => {
            close();
            onUploaded(version);
          }}
        />
      )}
    </UploadDialog>
  );
}

function Form({ modelId, latest, onUploaded }: Props) {
  const kind = latest?.kind === "script" ? "script" : "package";
  const [values, setValues] = useState<CodeValues>({ ...NO_CODE, kind, entry: latest?.entry ?? "" });
  return (
    <UploadForm<ModelVersion>
      path={`/api/v1/models/${modelId}/versions`}
      fields={codeFields(values)}
      touches={["model", "models"]}
      onUploaded={onUploaded}
    >
      {(sending) => <CodeFields values={values} onChange={setValues} {...sending} />}
    </UploadForm>
  );
}
