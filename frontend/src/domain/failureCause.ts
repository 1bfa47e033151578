// SPDX-License-Identifier: Apache-2.0
// Why an attempt failed, as a label; the message and the remedy come with the failure itself.
import type { FailureCause } from "@/api/types";

export const FAILURE_CAUSES: Record<FailureCause, string> = {
  user_code: "Error in the code",
  crashed: "Crashed in native code",
  io_error: "Storage error",
  bad_spec: "Unreadable pod specification",
  input_unavailable: "Input unavailable",
  out_of_memory: "Out of memory",
  storage_quota: "Storage quota used up",
  peer_lost: "Connection to another pod lost",
  not_a_number: "Loss is not a number",
  report_refused: "Reports refused",
  preempted: "Preempted",
  sandbox_failed: "Sandbox failed",
  timeout: "Timed out",
  stalled: "No progress",
  image: "Container image failed",
  volume: "Volume not mounted",
  quota: "Cluster quota used up",
  taint: "Node closed by a taint",
  unschedulable: "Pod not schedulable",
  node_lost: "Node lost",
  killed: "Killed",
  launch_failed: "Launch failed",
  unknown: "Unknown cause",
};

/** Of a cause that came as free text, such as in an event. */
export function causeLabel(text: string): string {
  return text in FAILURE_CAUSES ? FAILURE_CAUSES[text as FailureCause] : text.replaceAll("_", " ");
}
