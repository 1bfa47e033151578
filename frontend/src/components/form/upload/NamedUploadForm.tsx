// SPDX-License-Identifier: Apache-2.0
// Uploads something new: after the caller's fields, the project it belongs to, its name and its description.
import { t } from "@lingui/core/macro";
import { Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useSearchParams } from "react-router";

import { stemOf } from "@/lib/filenames";

import { ProjectSelect, useUsableProject } from "@/components/form/choice/ProjectSelect";
import { UPLOAD_TO } from "@/components/form/upload/UnfinishedUploads";
import { UploadForm, type UploadFormProps } from "@/components/form/upload/UploadForm";

/** The file comes first, since the name is the file's until another is typed; the project is the first until another is chosen. */
export function NamedUploadForm<T>({ fields, children, ...upload }: Omit<UploadFormProps<T>, "lacking" | "project">) {
  const [search] = useSearchParams();
  const [chosenProject, setChosenProject] = useState(search.get(UPLOAD_TO) ?? "");
  const [typedName, setTypedName] = useState<string>();
  const [description, setDescription] = useState("");
  const name = typedName ?? (fields.file ? stemOf(fields.file.name) : "");
  const project = useUsableProject("upload", chosenProject)?.id;

  return (
    <UploadForm<T>
      {...upload}
      fields={{ ...fields, name: name.trim(), project, description: description.trim() }}
      project={project}
      lacking={project === undefined ? t`Make or choose a project first.` : fields.file && name.trim() === "" ? t`Give it a name first.` : ""}
    >
      {(sending) => (
        <>
          {children(sending)}
          <ProjectSelect may="upload" value={project ?? ""} onChange={setChosenProject} error={sending.problem?.of("project")} />
          <TextInput
            label={t`Name`}
            value={name}
            maxLength={100}
            disabled={sending.isDisabled}
            onChange={(event) => setTypedName(event.currentTarget.value)}
            error={sending.problem?.of("name")}
          />
          <Textarea
            label={t`Description`}
            value={description}
            rows={3}
            disabled={sending.isDisabled}
            onChange={(event) => setDescription(event.currentTarget.value)}
          />
        </>
      )}
    </UploadForm>
  );
}
