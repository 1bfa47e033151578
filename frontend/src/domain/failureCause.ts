// SPDX-License-Identifier: Apache-2.0
// Why an attempt failed, as a label; the message and the remedy come with the failure itself.
import { t } from "@lingui/core/macro";

import type { FailureCause } from "@/api/types";

export const FAILURE_CAUSES: Record<FailureCause, string> = {
  user_code: t`Error in the code`,
  crashed: t`Crashed in native code`,
  gpu_unavailable: t`GPU not usable`,
  io_error: t`Storage error`,
  bad_spec: t`Unreadable pod specification`,
  input_unavailable: t`Input unavailable`,
  out_of_memory: t`Out of memory`,
  storage_quota: t`Storage quota used up`,
  disk_full: t`Too much of the disk`,
  peer_lost: t`Connection to another pod lost`,
  not_a_number: t`Loss is not a number`,
  report_refused: t`Reports refused`,
  preempted: t`Preempted`,
  sandbox_failed: t`Sandbox failed`,
  timeout: t`Timed out`,
  stalled: t`No progress`,
  job_image: t`Image of the job not usable`,
  secret: t`Secret not available`,
  image: t`Container image failed`,
  volume: t`Volume not mounted`,
  quota: t`Cluster quota used up`,
  taint: t`Node closed by a taint`,
  unschedulable: t`Pod not schedulable`,
  node_lost: t`Node lost`,
  killed: t`Killed`,
  launch_failed: t`Launch failed`,
  unknown: t`Unknown cause`,
};

/** Of a cause that came as free text, such as in an event. */
export function causeLabel(text: string): string {
  return text in FAILURE_CAUSES ? FAILURE_CAUSES[text as FailureCause] : text.replaceAll("_", " ");
}
