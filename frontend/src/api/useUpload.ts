// SPDX-License-Identifier: Apache-2.0
// One upload at a time, with its progress, for forms.
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { type Upload, upload } from "@/api/upload";

interface Request {
  path: string;
  fields: Record<string, string | File | undefined>;
}

/** `onDone` gets the API's answer. Leaving the page cancels what is still being sent. */
export function useUpload<T>(onDone: (answer: T) => void) {
  const [fraction, setFraction] = useState(0);
  const running = useRef<Upload<T> | null>(null);
  const { mutate, isPending, error, reset } = useMutation<T, Error, Request>({
    mutationFn: ({ path, fields }) => {
      setFraction(0);
      running.current = upload<T>(path, fields, setFraction);
      return running.current.done;
    },
    onSuccess: onDone,
  });
  useEffect(() => () => running.current?.cancel(), []);

  const isCancelled = error instanceof DOMException && error.name === "AbortError";
  return {
    send: mutate,
    cancel: () => running.current?.cancel(),
    reset,
    fraction,
    isSending: isPending,
    error: isCancelled ? null : error,
  };
}
