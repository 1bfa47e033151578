// SPDX-License-Identifier: Apache-2.0
// How the cluster's page writes bandwidths and the use of GPUs, and whose a job is.
import { t } from "@lingui/core/macro";

import type { Node, SlotJob } from "@/api/types";
import { bytes, number, percent } from "@/lib/quantities";

/** "25 Gbit/s". */
export function bandwidth(bits_per_s: number): string {
  return bits_per_s >= 1e9 ? t`${number(bits_per_s / 1e9)} Gbit/s` : t`${number(bits_per_s / 1e6)} Mbit/s`;
}

/** "62 % · 11.2 GiB of 80 GiB · 61 °C"; what the driver does not say is left out. */
export function gpuUse(gpu: NonNullable<Node["slots"][number]["gpu"]>): string {
  const parts = [
    gpu.utilisation === null ? "" : percent(gpu.utilisation),
    gpu.memory_bytes ? t`${bytes(gpu.used_bytes)} of ${bytes(gpu.memory_bytes)}` : "",
    gpu.temperature_c === null ? "" : `${number(gpu.temperature_c)} °C`,
  ];
  // a number keeps its unit at the end of a line
  return parts.filter(Boolean).map((part) => part.replaceAll(" ", "\u00a0")).join(" · ");
}

/** A job of an organisation that the reader does not belong to has no name here. */
export function isOfOthers(job: SlotJob): boolean {
  return job.id === null;
}
