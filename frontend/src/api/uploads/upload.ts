// SPDX-License-Identifier: Apache-2.0
// Sends a form with files, telling how much of it has left: fetch cannot tell, XMLHttpRequest can.
import { t } from "@lingui/core/macro";

import { csrfToken, Problem } from "@/api/client";
import { currentLocale } from "@/locales/locale";

export interface Upload<T> {
  done: Promise<T>;
  /** For good: nothing of it is kept. */
  cancel: () => void;
  /** The page goes: what has arrived is kept where it can go on. */
  leave: () => void;
  /** Of an upload that can be paused. */
  pause?: () => void;
  resume?: () => void;
}

export type OnProgress = (sentBytes: number, totalBytes: number) => void;

/** POSTs `fields` (blanks are left out) as multipart/form-data. */
export function upload<T>(
  path: string,
  fields: Record<string, string | File | undefined>,
  onProgress: OnProgress,
): Upload<T> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== "") form.append(name, value);
  }
  const request = new XMLHttpRequest();
  const done = new Promise<T>((resolve, reject) => {
    request.upload.onprogress = (event) => {
      if (event.lengthComputable && event.total > 0) onProgress(event.loaded, event.total);
    };
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status >= 200 && request.status < 300) resolve(body as T);
      else reject(new Problem(request.status, body));
    };
    request.onerror = () => reject(new Problem(0, undefined));
    request.onabort = () => reject(new DOMException(t`The upload was cancelled.`, "AbortError"));
    request.open("POST", path);
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.setRequestHeader("accept-language", currentLocale());
    request.setRequestHeader("Accept", "application/json");
    request.send(form);
  });
  const cancel = () => request.abort();
  return { done, cancel, leave: cancel };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
