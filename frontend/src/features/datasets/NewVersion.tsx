// The button and dialogue that upload a new version of a dataset.
import { useState } from "react";

import type { DatasetVersion } from "@/api/types";
import { UploadDialog } from "@/components/UploadDialog";
import { UploadForm } from "@/components/UploadForm";
import { FileFields, fileFields, NO_FILE } from "@/features/datasets/FileFields";

interface Props {
  datasetId: string;
  /** The target column of the version before, most likely this one's too. */
  target: string;
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

function Form({ datasetId, target, onUploaded }: Props) {
  const [values, setValues] = useState({ ...NO_FILE, target });
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
