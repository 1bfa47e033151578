// SPDX-License-Identifier: Apache-2.0
// Makes a folder one file, once at a time: what is chosen later ends what was under way.
import { t } from "@lingui/core/macro";
import { useEffect, useRef, useState } from "react";

import { packed, PackingError } from "@/lib/folders/pack";
import type { NamedFile } from "@/lib/folders/zip";
import { number } from "@/lib/quantities";

type Found = AsyncIterable<NamedFile> | Iterable<NamedFile>;

/** `onFile` gets null when packing begins, then the zip with the paths in it. `status` is there while it goes on. */
export function usePacking(onFile: (file: File | null, names?: readonly string[]) => void) {
  const [status, setStatus] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const running = useRef<AbortController>(undefined);
  const latest = useRef(onFile);
  useEffect(() => {
    latest.current = onFile; // the form may have changed while a folder was read
  });
  useEffect(() => () => running.current?.abort(), []);

  function stop() {
    running.current?.abort();
    setStatus(undefined);
    setProblem(undefined);
  }

  async function packAll(found: Found, { signal }: AbortController) {
    try {
      const report = (nRead: number, nFiles: number) => {
        if (!signal.aborted) setStatus(t`Reading the folder: ${number(nRead)} of ${number(nFiles)} files`);
      };
      const { file, names } = await packed(found, report, signal);
      signal.throwIfAborted();
      setStatus(undefined);
      latest.current(file, names);
    } catch (error) {
      if (signal.aborted) return;
      setStatus(undefined);
      setProblem(error instanceof PackingError ? error.message : t`The folder cannot be read.`);
    }
  }

  function pack(found: Found) {
    stop();
    running.current = new AbortController();
    setStatus(t`Looking through the folder…`);
    onFile(null);
    void packAll(found, running.current);
  }
  return { pack, stop, status, problem };
}
