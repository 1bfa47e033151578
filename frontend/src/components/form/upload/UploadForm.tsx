// SPDX-License-Identifier: Apache-2.0
// Sends a file with its fields, shows the progress, and shows what was refused. The fields are the caller's.
import { t } from "@lingui/core/macro";
import { Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode, SubmitEvent } from "react";

import { Problem } from "@/api/client";
import { useUpload } from "@/api/uploads/useUpload";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { SubmitLine } from "@/components/form/upload/SubmitLine";
import { UnfinishedUploads } from "@/components/form/upload/UnfinishedUploads";
import { UploadProgress } from "@/components/form/upload/UploadProgress";

/** What the inputs of an upload must know of its sending. */
export interface Sending {
  isDisabled: boolean;
  problem: Problem | undefined;
}

export interface UploadFormProps<T> {
  /** Where to POST to. */
  path: string;
  fields: { file: File | undefined } & Record<string, string | File | undefined>;
  /** The project that it is uploaded to. */
  project: string | undefined;
  /** First words of the keys of the queries that the upload changes. */
  touches: readonly string[];
  onUploaded: (answer: T) => void;
  /** What besides the file has to be given first, as a sentence; "": nothing. */
  lacking?: string;
  children: (sending: Sending) => ReactNode;
}

export function UploadForm<T>(props: UploadFormProps<T>) {
  const { path, fields, project, touches, onUploaded, lacking = "", children } = props;
  const queries = useQueryClient();
  const { send, cancel, transfer, isPaused, pausing, isSending, error } = useUpload<T>((answer) => {
    for (const name of touches) void queries.invalidateQueries({ queryKey: [name] });
    onUploaded(answer);
  });

  const missing = lacking || (fields.file ? "" : t`Choose a file first.`);

  function submit(event: SubmitEvent) {
    event.preventDefault();
    send({ path, fields, project });
  }

  return (
    <form onSubmit={submit}>
      <Stack>
        {!fields.file && <UnfinishedUploads project={project} />}
        {children({ isDisabled: isSending, problem: error instanceof Problem ? error : undefined })}
        <ProblemAlert error={error} atFields={Object.keys(fields)} />
        {isSending && <UploadProgress transfer={transfer} isPaused={isPaused} pausing={pausing} onCancel={cancel} />}
        <SubmitLine label={t`Upload`} missing={missing} isSending={isSending} />
      </Stack>
    </form>
  );
}
