// SPDX-License-Identifier: Apache-2.0
// The phases of a job's start as parts of a bar, and as one sentence.
import { t } from "@lingui/core/macro";

import type { Startup } from "@/api/types";
import { bytes, number } from "@/lib/quantities";
import { duration } from "@/lib/time";

type PhaseName = Startup["phases"][number]["name"];

export interface StartupPart {
  name: PhaseName;
  label: string;
  seconds: number;
  share: number;
}

const LABELS: Record<PhaseName, string> = {
  request: t`Request`,
  validation_queue: t`Waiting for validation`,
  validation: t`Validation`,
  scheduling: t`Waiting for resources`,
  launch: t`Launching pods`,
  inputs: t`Fetching data and code`,
  import: t`Importing`,
  setup: t`Preparing data and model`,
  rendezvous: t`Connecting pods`,
  first_batch: t`First batch`,
};

const SHORTEST_S = 0.0005;

/** Those that took any time, in their order; shares of the whole, 0 to 1. */
export function startupParts({ phases, total_s }: Pick<Startup, "phases" | "total_s">): StartupPart[] {
  return phases
    .filter(({ duration_s }) => duration_s >= SHORTEST_S)
    .map(({ name, duration_s }) => ({
      name,
      label: LABELS[name],
      seconds: duration_s,
      share: total_s > 0 ? duration_s / total_s : 0,
    }));
}

/** "Start-up: 12 s, of which importing 6.1 s". */
export function startupText(startup: Pick<Startup, "phases" | "total_s" | "is_complete">): string {
  const whole = t`Start-up${startup.is_complete ? "" : t` so far`}: ${duration(startup.total_s)}`;
  const parts = startupParts(startup);
  if (parts.length < 2) return whole;
  const longest = parts.reduce((found, part) => (part.seconds > found.seconds ? part : found));
  return t`${whole}, of which ${longest.label.toLowerCase()} ${duration(longest.seconds)}`;
}

const MOST_NODES = 4;

/** "Inputs on lab-1: 80 MiB found on the node, 1.2 GiB fetched in 8.0 s", one a node; of many those that fetched longest. */
export function inputsTexts({ inputs }: Pick<Startup, "inputs">): string[] {
  const slowest = [...inputs].sort((one, other) => other.fetch_s - one.fetch_s);
  const listed = inputs.length > MOST_NODES ? slowest.slice(0, MOST_NODES - 1) : inputs;
  const texts = listed.map(({ node, found_bytes, fetched_bytes, fetch_s }) => {
    const found = bytes(found_bytes);
    const fetched = bytes(fetched_bytes);
    const took = duration(fetch_s);
    if (fetched_bytes === 0) return t`Inputs on ${node}: found on the node (${found})`;
    if (found_bytes === 0) return t`Inputs on ${node}: fetched ${fetched} in ${took}`;
    return t`Inputs on ${node}: ${found} found on the node, ${fetched} fetched in ${took}`;
  });
  return listed.length < inputs.length ? [...texts, othersText(slowest.slice(listed.length))] : texts;
}

function othersText(others: Startup["inputs"]): string {
  const found = bytes(others.reduce((sum, one) => sum + one.found_bytes, 0));
  const fetched = bytes(others.reduce((sum, one) => sum + one.fetched_bytes, 0));
  const n = number(others.length);
  return t`Inputs on ${n} other nodes, none of which took longer: ${found} found on the nodes, ${fetched} fetched`;
}
