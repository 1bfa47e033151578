// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that upload a new dataset.
import { useState } from "react";
import { useNavigate } from "react-router";

import type { Dataset } from "@/api/types";
import { NamedUploadForm } from "@/components/form/NamedUploadForm";
import { UploadDialog } from "@/components/form/UploadDialog";
import { FileFields, fileFields, NO_FILE } from "@/features/datasets/FileFields";

export function NewDataset() {
  return (
    <UploadDialog label="Upload a dataset" isMain>
      {() => <Form />}
    </UploadDialog>
  );
}

function Form() {
  const [values, setValues] = useState(NO_FILE);
  const navigate = useNavigate();
  return (
    <NamedUploadForm<Dataset>
      path="/api/v1/datasets"
      fields={fileFields(values)}
      touches={["datasets"]}
      onUploaded={({ id }) => void navigate(`/datasets/${id}`)}
    >
      {(sending) => <FileFields values={values} onChange={setValues} {...sending} />}
    </NamedUploadForm>
  );
}
