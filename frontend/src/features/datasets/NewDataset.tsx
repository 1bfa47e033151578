// The button and dialogue that upload a new dataset.
import { Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { Problem } from "@/api/client";
import type { Dataset } from "@/api/types";
import { useUpload } from "@/api/useUpload";
import { Icon } from "@/components/Icon";
import { ProblemAlert } from "@/components/ProblemAlert";
import { ProjectSelect, useWritableProjects } from "@/components/ProjectSelect";
import { UploadProgress } from "@/components/UploadProgress";
import { FileFields, fileFields, NO_FILE } from "@/features/datasets/FileFields";
import { nameOf } from "@/features/datasets/formats";

export function NewDataset() {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button leftSection={<Icon name="upload" size={16} />} onClick={open}>
        Upload a dataset
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Upload a dataset"
        size="lg"
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Form />
      </Modal>
    </>
  );
}

function Form() {
  const projects = useWritableProjects();
  const [project, setProject] = useState("");
  const [typedName, setTypedName] = useState<string | null>(null);
  const [description, setDescription] = useState("");
  const [values, setValues] = useState(NO_FILE);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { send, cancel, fraction, isSending, error } = useUpload<Dataset>((dataset) => {
    void queries.invalidateQueries({ queryKey: ["datasets"] });
    void navigate(`/datasets/${dataset.id}`);
  });
  const problem = error instanceof Problem ? error : undefined;
  const name = typedName ?? (values.file ? nameOf(values.file.name) : "");
  const projectId = project || projects[0]?.id;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    const fields = { ...fileFields(values), name: name.trim(), project: projectId, description: description.trim() };
    send({ path: "/api/v1/datasets", fields });
  }

  return (
    <form onSubmit={submit}>
      <Stack>
        <FileFields values={values} onChange={setValues} isDisabled={isSending} problem={problem} />
        <ProjectSelect value={project} onChange={setProject} error={problem?.of("project")} />
        <TextInput
          label="Name"
          value={name}
          maxLength={100}
          disabled={isSending}
          onChange={(event) => setTypedName(event.currentTarget.value)}
          error={problem?.of("name")}
        />
        <Textarea
          label="Description"
          value={description}
          rows={3}
          disabled={isSending}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <ProblemAlert error={error} />
        {isSending && <UploadProgress fraction={fraction} onCancel={cancel} />}
        <Group justify="flex-end">
          <Button type="submit" loading={isSending} disabled={!values.file || !projectId || name.trim() === ""}>
            Upload
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
