// SPDX-License-Identifier: Apache-2.0
// The form of a new dataset: its file, and how to take it.
import { useState } from "react";
import { useNavigate } from "react-router";

import type { Dataset } from "@/api/types";
import { NamedUploadForm } from "@/components/form/upload/NamedUploadForm";
import { FileFields, fileFields, NO_FILE } from "@/features/datasets/upload/FileFields";

export function NewDatasetForm() {
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
