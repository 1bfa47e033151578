// SPDX-License-Identifier: Apache-2.0
// Sends a large file in pieces by the protocol tus, whose client is loaded when the first one is sent; a cut connection
// costs a piece. The file becomes what the form says once all of it has arrived.
import { t } from "@lingui/core/macro";
import type { DetailedError, Upload as TusUpload } from "tus-js-client";

import { csrfToken, Problem } from "@/api/client";
import { type OnProgress, type Upload, upload } from "@/api/uploads/upload";
import { begunUploads, fingerprint, forgetUpload, rememberUpload } from "@/lib/begunUploads";
import { currentLocale } from "@/locales/locale";

export const RESUMABLE_FROM_BYTES = 8 * 2 ** 20;
const PIECE_BYTES = 8 * 2 ** 20;
const ENDPOINT = "/api/v1/uploads";
/** Counted anew after each piece. */
const RETRY_DELAYS_MS = [0, 1_000, 3_000, 5_000, 10_000, 20_000, 30_000, 60_000, 60_000];
const RETRIED = [423, 429];
const GONE = 404;

interface Request {
  path: string;
  fields: Record<string, string | File | undefined>;
  file: File;
  project: string;
}

/** As upload(), but that it can be paused, and that leaving it keeps what has arrived. */
export function uploadResumably<T>(request: Request, onProgress: OnProgress): Upload<T> {
  const { path, fields, file, project } = request;
  const page = location.pathname; // on which it begins; the person may have left it once it has
  let sending: TusUpload | undefined;
  let finishing: Upload<T> | undefined;
  let isStarted = false;
  let isPaused = false;
  let isLeft = false;
  let isCancelled = false;
  let stop: (reason: unknown) => void = () => undefined;

  const arrived = new Promise<string>((resolve, reject) => {
    stop = reject;
    void import("tus-js-client").then(({ Upload: Tus }) => {
      if (isLeft) return;
      const known = begunUploads()[fingerprint(file, project)];
      const started: TusUpload = new Tus(file, {
        endpoint: ENDPOINT,
        uploadUrl: known === undefined ? null : `${ENDPOINT}/${known}`,
        chunkSize: PIECE_BYTES,
        retryDelays: RETRY_DELAYS_MS,
        metadata: { filename: file.name, project },
        storeFingerprintForResuming: false,
        onBeforeRequest: (sent) => {
          sent.setHeader("X-CSRFToken", csrfToken());
          sent.setHeader("accept-language", currentLocale());
        },
        onUploadUrlAvailable: () => begun(started),
        onShouldRetry: (error) => isWorthRetrying(error),
        onProgress,
        onError: (error) => reject(problemOf(error)),
        onSuccess: () => resolve(idOf(started)),
      });
      sending = started;
      goOn();
    }, reject);
  });

  const done = arrived.then(async (id) => {
    finishing = upload<T>(path, { ...fields, file: undefined, upload: id }, () => undefined);
    try {
      const made = await finishing.done;
      forgetUpload(id);
      return made;
    } catch (error) {
      if (error instanceof Problem && error.status === GONE) forgetUpload(id); // the next try sends the file anew
      throw error;
    }
  });

  /** The platform has made the upload, or found it. What was asked for while it did takes place now: a request that is
   * cut off then would leave an upload that no browser knows. */
  function begun(started: TusUpload) {
    if (isCancelled) {
      void started.abort(true);
      return;
    }
    rememberUpload(fingerprint(file, project), idOf(started), page);
    if (isPaused || isLeft) void started.abort();
  }

  function goOn() {
    if (isPaused || (isStarted && !sending?.url)) return; // while the platform makes the upload it goes on by itself
    isStarted = sending !== undefined;
    sending?.start();
  }

  function hold() {
    if (sending?.url) void sending.abort();
  }

  function leave() {
    isLeft = true;
    finishing?.cancel();
    hold();
    stop(new DOMException(t`The upload was left.`, "AbortError"));
  }
  return {
    done,
    leave,
    cancel: () => {
      finishing?.cancel(); // before the upload that it names is deleted
      if (sending?.url) {
        forgetUpload(idOf(sending));
        void sending.abort(true);
      }
      isCancelled = true;
      leave();
    },
    pause: () => {
      isPaused = true;
      hold();
    },
    resume: () => {
      isPaused = false;
      goOn();
    },
  };
}

function idOf(sending: TusUpload): string {
  return sending.url?.split("/").at(-1) ?? "";
}

function isWorthRetrying(error: DetailedError): boolean {
  const status = error.originalResponse?.getStatus() ?? 0;
  // another offset than the platform's: it is asked for; with too many uploads under way a new one cannot begin
  const isOffset = status === 409 && error.originalRequest.getMethod() === "PATCH";
  // used by another tab, or removed: the client looks for it once more, and then begins another one
  const isGone = status === GONE && error.originalRequest.getMethod() === "PATCH";
  return status === 0 || status >= 500 || isOffset || isGone || RETRIED.includes(status);
}

function problemOf(error: Error | DetailedError): Problem {
  const response = "originalResponse" in error ? error.originalResponse : null;
  if (!response) return new Problem(0, undefined);
  try {
    return new Problem(response.getStatus(), JSON.parse(response.getBody()));
  } catch {
    return new Problem(response.getStatus(), undefined);
  }
}
