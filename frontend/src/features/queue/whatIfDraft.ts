// SPDX-License-Identifier: Apache-2.0
// The hypothetical changes that the queue's page offers, and the what-if request that each makes.
import type { WhatIf } from "@/api/types";

export interface WhatIfDraft {
  kind: "cancel" | "priority" | "workers" | "quota" | "nodes";
  job: string;
  organisation: string;
  n: number;
}

interface Kind {
  value: WhatIfDraft["kind"];
  label: string;
  needs: "job" | "organisation" | null;
  /** The number's label, when there is one. */
  number?: string;
  isForStaff: boolean;
}

export const KINDS: Kind[] = [
  { value: "cancel", label: "A job is cancelled", needs: "job", isForStaff: false },
  { value: "priority", label: "A job's priority changes", needs: "job", number: "Priority", isForStaff: false },
  { value: "workers", label: "A job gets a fixed number of GPUs", needs: "job", number: "GPUs", isForStaff: false },
  { value: "quota", label: "A quota changes", needs: "organisation", number: "Maximum GPUs", isForStaff: false },
  { value: "nodes", label: "A node is added", needs: null, number: "GPUs on it", isForStaff: true },
];

export function isComplete({ kind, job, organisation, n }: WhatIfDraft): boolean {
  const needs = KINDS.find(({ value }) => value === kind)?.needs;
  if (needs === "job" && job === "") return false;
  if (needs === "organisation" && organisation === "") return false;
  return kind === "cancel" || kind === "priority" || kind === "quota" || n >= 1;
}

export function whatIfRequestOf({ kind, job, organisation, n }: WhatIfDraft): WhatIf {
  switch (kind) {
    case "cancel":
      return { cancel: [job] };
    case "priority":
      return { jobs: [{ job, priority: n }] };
    case "workers":
      return { jobs: [{ job, n_workers: n }] };
    case "quota":
      return { quotas: [{ organisation, max_gpus: n }] };
    case "nodes":
      return { add_nodes: { nodes: 1, gpus: n } };
  }
}
