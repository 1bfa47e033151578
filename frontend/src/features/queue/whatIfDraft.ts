// SPDX-License-Identifier: Apache-2.0
// The hypothetical changes that the queue's page offers, and the what-if request that each makes.
import { t } from "@lingui/core/macro";

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
  { value: "cancel", label: t`A job is cancelled`, needs: "job", isForStaff: false },
  { value: "priority", label: t`A job's priority changes`, needs: "job", number: t`Priority`, isForStaff: false },
  { value: "workers", label: t`A job gets a fixed number of GPUs`, needs: "job", number: t`GPUs`, isForStaff: false },
  { value: "quota", label: t`A quota changes`, needs: "organisation", number: t`Maximum GPUs`, isForStaff: false },
  { value: "nodes", label: t`A node is added`, needs: null, number: t`GPUs on it`, isForStaff: true },
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
