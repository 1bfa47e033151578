// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that upload a new version of a dataset.
import { useState } from "react";

import type { DatasetVersion } from "@/api/types";
import { UploadDialog } from "@/components/form/UploadDialog";
import { UploadForm } from "@/components/form/UploadForm";
import { FileFields, fileFields, valuesOf } from "@/features/datasets/FileFields";

interface Props {
  datasetId: string;
  /** Of the version before. */
  options: unknown;
  onUploaded: (version: DatasetVersion) => void;
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

function Form({ datasetId, options, onUploaded }: Props) {
  const [values, setValues] = useState(() => valuesOf(options));
  return (
    <UploadForm<DatasetVersion>
      path={`/api/v1/datasets/${datasetId}/versions`}
      fields={fileFields(values)}
      touches={["dataset", "datasets"]}
      onUploaded={onUploaded}
    >
      {(sending) => <FileFields values={values} onChange={setValues} {...sending} />}
    </UploadForm>
  );
}
