// SPDX-License-Identifier: Apache-2.0
// A trained version's final metrics, read with care: their names are the model's own.
import { isRecord } from "@/api/client";
import { isConfusion } from "@/domain/confusion";
import { number } from "@/lib/quantities";

/** Name and value of every number, "accuracy" and "loss" as they come; a confusion matrix is on the job's page. */
export function metricsOf(metrics: unknown): [string, string][] {
  if (!isRecord(metrics)) return [];
  return Object.entries(metrics)
    .filter((entry): entry is [string, number] => typeof entry[1] === "number" && !isConfusion(entry[0]))
    .map(([name, value]) => [name, number(value)]);
}

/** "accuracy 0.98, loss 0.06". */
export function metricsLine(metrics: unknown): string {
  const found = metricsOf(metrics).map(([name, value]) => `${name} ${value}`);
  return found.join(", ") || "–";
}
