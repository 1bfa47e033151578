// SPDX-License-Identifier: Apache-2.0
// The limits of a quota as they hold now.
import type { Quota } from "@/api/types";

/** GPUs that may be in use at a time, with what boosts add; null: no limit. */
export function maxGpusNow({ max_gpus, boosted_gpus }: Quota): number | null {
  return max_gpus === null ? null : max_gpus + boosted_gpus;
}
