// SPDX-License-Identifier: Apache-2.0
// Sends a form with files, telling how much of it has left: fetch cannot tell, XMLHttpRequest can.
import { csrfToken, Problem } from "@/api/client";

export interface Upload<T> {
  done: Promise<T>;
  cancel: () => void;
}

/** POSTs `fields` (blanks are left out) as multipart/form-data; onProgress gets 0..1. */
export function upload<T>(
  path: string,
  fields: Record<string, string | File | undefined>,
  onProgress: (fraction: number) => void,
): Upload<T> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== "") form.append(name, value);
  }
  const request = new XMLHttpRequest();
  const done = new Promise<T>((resolve, reject) => {
    request.upload.onprogress = (event) => {
      if (event.lengthComputable && event.total > 0) onProgress(event.loaded / event.total);
    };
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status >= 200 && request.status < 300) resolve(body as T);
      else reject(new Problem(request.status, body));
    };
    request.onerror = () => reject(new Problem(0, undefined));
    request.onabort = () => reject(new DOMException("The upload was cancelled.", "AbortError"));
    request.open("POST", path);
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.setRequestHeader("Accept", "application/json");
    request.send(form);
  });
  return { done, cancel: () => request.abort() };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
