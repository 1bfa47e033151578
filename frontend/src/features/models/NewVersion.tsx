// The button and dialogue that upload a new version of a model's code.
import { Button, Group, Modal, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Problem } from "@/api/client";
import type { ModelVersion } from "@/api/types";
import { useUpload } from "@/api/useUpload";
import { ProblemAlert } from "@/components/ProblemAlert";
import { UploadProgress } from "@/components/UploadProgress";
import { CodeFields, codeFields, type CodeValues, NO_CODE } from "@/features/models/CodeFields";

interface Props {
  modelId: string;
  /** The version before, most likely of the same kind and with the same entry. */
  latest: ModelVersion | null;
  onUploaded: (version: ModelVersion) => void;
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

function Form({ modelId, latest, onUploaded }: Props) {
  const kind = latest?.kind === "script" ? "script" : "package";
  const [values, setValues] = useState<CodeValues>({ ...NO_CODE, kind, entry: latest?.entry ?? "" });
  const queries = useQueryClient();
  const { send, cancel, fraction, isSending, error } = useUpload<ModelVersion>((version) => {
    void queries.invalidateQueries({ queryKey: ["model"] });
    void queries.invalidateQueries({ queryKey: ["models"] });
    onUploaded(version);
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    send({ path: `/api/v1/models/${modelId}/versions`, fields: codeFields(values) });
  }

  return (
    <form onSubmit={submit}>
      <Stack>
        <CodeFields
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
