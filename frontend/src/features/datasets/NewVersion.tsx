// The button and dialogue that upload a new version of a dataset.
import { Button, Group, Modal, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Problem } from "@/api/client";
import type { DatasetVersion } from "@/api/types";
import { useUpload } from "@/api/useUpload";
import { ProblemAlert } from "@/components/ProblemAlert";
import { UploadProgress } from "@/components/UploadProgress";
import { FileFields, fileFields, NO_FILE } from "@/features/datasets/FileFields";

interface Props {
  datasetId: string;
  /** The target column of the version before, most likely this one's too. */
  target: string;
  onUploaded: (version: DatasetVersion) => void;
}

export function NewVersion(props: Props) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open}>
        Upload a new version
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Upload a new version"
        size="lg"
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Form
          {...props}
          onUploaded={(version) => {
            close();
            props.onUploaded(version);
          }}
        />
      </Modal>
    </>
  );
}

function Form({ datasetId, target, onUploaded }: Props) {
  const [values, setValues] = useState({ ...NO_FILE, target });
  const queries = useQueryClient();
  const { send, cancel, fraction, isSending, error } = useUpload<DatasetVersion>((version) => {
    void queries.invalidateQueries({ queryKey: ["dataset"] });
    void queries.invalidateQueries({ queryKey: ["datasets"] });
    onUploaded(version);
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    send({ path: `/api/v1/datasets/${datasetId}/versions`, fields: fileFields(values) });
  }

  return (
    <form onSubmit={submit}>
      <Stack>
        <FileFields
          values={values}
          onChange={setValues}
          isDisabled={isSending}
          problem={error instanceof Problem ? error : undefined}
        />
        <ProblemAlert error={error} />
        {isSending && <UploadProgress fraction={fraction} onCancel={cancel} />}
        <Group justify="flex-end">
          <Button type="submit" loading={isSending} disabled={!values.file}>
            Upload
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
