// SPDX-License-Identifier: Apache-2.0
// The form that uploads a new version of a dataset.
import { useState } from "react";

import type { DatasetVersion } from "@/api/types";
import { UploadForm } from "@/components/form/upload/UploadForm";
import { FileFields, fileFields, valuesOf } from "@/features/datasets/upload/FileFields";

export interface NewVersionProps {
  datasetId: string;
  /** Of the dataset. */
  projectId: string;
  /** Of the version before. */
  options: unknown;
  onUploaded: (version: DatasetVersion) => void;
}

export function NewVersionForm({ datasetId, projectId, options, onUploaded }: NewVersionProps) {
  const [values, setValues] = useState(() => valuesOf(options));
  return (
    <UploadForm<DatasetVersion>
      path={`/api/v1/datasets/${datasetId}/versions`}
      project={projectId}
      fields={fileFields(values)}
      touches={["dataset", "datasets"]}
      onUploaded={onUploaded}
    >
      {(sending) => <FileFields values={values} onChange={setValues} {...sending} />}
    </UploadForm>
  );
}
