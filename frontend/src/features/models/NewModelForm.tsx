// SPDX-License-Identifier: Apache-2.0
// The form that uploads a new model.
import { useState } from "react";
import { useNavigate } from "react-router";

import type { Model } from "@/api/types";
import { NamedUploadForm } from "@/components/form/upload/NamedUploadForm";
import { CodeFields, codeFields, NO_CODE } from "@/features/models/CodeFields";

export function NewModelForm() {
  const [values, setValues] = useState(NO_CODE);
  const navigate = useNavigate();
  return (
    <NamedUploadForm<Model>
      path="/api/v1/models"
      fields={codeFields(values)}
      touches={["models"]}
      onUploaded={({ id }) => void navigate(`/models/${id}`)}
    >
      {(sending) => <CodeFields values={values} onChange={setValues} {...sending} />}
    </NamedUploadForm>
  );
}
