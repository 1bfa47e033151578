// SPDX-License-Identifier: Apache-2.0
// What reading versions of datasets and of models has in common.
import { isRecord } from "@/api/client";

/** Whether an answer is of a version that is fetched or waits for its inspection, or lists one: its place in the queue changes. */
export function isInspecting(answer: unknown): boolean {
  if (!isRecord(answer)) return false;
  if (answer.state === "fetching" || answer.state === "inspecting") return true;
  return isInspecting(answer.latest_version) || (Array.isArray(answer.results) && answer.results.some(isInspecting));
}
