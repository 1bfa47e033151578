// SPDX-License-Identifier: Apache-2.0
// fetch that obeys Retry-After: a request that came too soon (429) is sent again after the time the API names.
import { t } from "@lingui/core/macro";

const TOO_MANY_REQUESTS = 429;
const MAX_TRIES = 4;
/** Longer waits are left to the person, who reads how long to wait. */
const MAX_WAIT_S = 10;

/** The answer; still 429 when the API asks for a longer wait, or has asked three times. Aborting ends a wait, too. */
export async function patientFetch(request: Request): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    // what has no body may be sent as often as one likes
    const answer = await globalThis.fetch(request.body === null ? request : request.clone());
    const waitS = retryAfterS(answer);
    if (answer.status !== TOO_MANY_REQUESTS || waitS === undefined || waitS > MAX_WAIT_S || tries >= MAX_TRIES) {
      return answer;
    }
    await pause(waitS * 1000, request.signal);
  }
}

/** Seconds, or undefined where the answer names none. */
function retryAfterS(answer: Response): number | undefined {
  const asked = answer.headers.get("Retry-After") ?? "";
  return /^\d+$/.test(asked) ? Number(asked) : undefined;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(new DOMException(t`The request was cancelled.`, "AbortError"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
