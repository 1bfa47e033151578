// SPDX-License-Identifier: Apache-2.0
// How the cluster's page writes bandwidths, and whose a job is.
import type { SlotJob } from "@/api/types";
import { number } from "@/lib/quantities";

/** "25 Gbit/s". */
export function bandwidth(bits_per_s: number): string {
  return bits_per_s >= 1e9 ? `${number(bits_per_s / 1e9)} Gbit/s` : `${number(bits_per_s / 1e6)} Mbit/s`;
}

/** A job of an organisation that the reader does not belong to has no name here. */
export function isOfOthers(job: SlotJob): boolean {
  return job.id === null;
}
