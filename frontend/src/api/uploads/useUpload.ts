// SPDX-License-Identifier: Apache-2.0
// One upload at a time, with its progress, for forms.
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { RESUMABLE_FROM_BYTES, uploadResumably } from "@/api/uploads/resumable";
import { type OnProgress, type Upload, upload } from "@/api/uploads/upload";
import { type Transfer, TransferClock } from "@/lib/transfer";

interface Request {
  path: string;
  fields: Record<string, string | File | undefined>;
  /** Where a large file is sent to before it becomes what the path makes of it. */
  project: string | undefined;
}

const NOTHING: Transfer = { sent: 0, total: 0, secondsLeft: undefined };

/** `onDone` gets the API's answer. Leaving the page ends what is still being sent; a large file can go on later. */
export function useUpload<T>(onDone: (answer: T) => void) {
  const [transfer, setTransfer] = useState(NOTHING);
  const [isPaused, setPaused] = useState(false);
  const [canPause, setCanPause] = useState(false);
  const running = useRef<Upload<T> | null>(null);
  const clock = useRef(new TransferClock());
  const { mutate, isPending, error, reset } = useMutation<T, Error, Request>({
    mutationFn: (request) => {
      setTransfer(NOTHING);
      setPaused(false);
      clock.current.restart();
      running.current = begun<T>(request, (sent, total) => setTransfer(clock.current.at(sent, total, Date.now())));
      setCanPause(running.current.pause !== undefined);
      return running.current.done;
    },
    onSuccess: onDone,
  });
  useEffect(() => () => running.current?.leave(), []);

  function pause() {
    setPaused(true);
    running.current?.pause?.();
  }

  function resume() {
    setPaused(false);
    clock.current.restart();
    running.current?.resume?.();
  }

  const isCancelled = error instanceof DOMException && error.name === "AbortError";
  return {
    send: mutate,
    cancel: () => running.current?.cancel(),
    reset,
    transfer,
    isPaused,
    pausing: canPause ? { pause, resume } : undefined,
    isSending: isPending,
    error: isCancelled ? null : error,
  };
}

function begun<T>({ path, fields, project }: Request, onProgress: OnProgress): Upload<T> {
  const { file } = fields;
  if (project !== undefined && file instanceof File && file.size >= RESUMABLE_FROM_BYTES) {
    return uploadResumably<T>({ path, fields, file, project }, onProgress);
  }
  return upload<T>(path, fields, onProgress);
}
