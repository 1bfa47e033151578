// SPDX-License-Identifier: Apache-2.0
// What two jobs may have in common, and by how much one slows the other there.
import { plural, t } from "@lingui/core/macro";

import type { Cluster, SlotJob } from "@/api/types";
import { number, percent } from "@/lib/quantities";

export type SharedResource = Cluster["interference"][number]["resource"];

export const SHARED_RESOURCES: Record<SharedResource, string> = {
  gpu: t`the same GPU`,
  nic: t`the same network interface`,
  node: t`the same node`,
  uplink: t`the same rack's uplink`,
};

type Basis = NonNullable<SlotJob["slowdown"]>["basis"];

export const SLOWDOWN_BASES: Record<Basis, string> = {
  measured: t`measured`,
  predicted: t`predicted`,
  alone: t`no other job on its hardware`,
};

/** "50 % slower"; a step that takes no longer is not slowed. */
export function slowerBy(ratio: number): string {
  return ratio < 1.005 ? t`not slowed` : t`${percent(ratio - 1)} slower`;
}

/** "1.50 ± 0.02 times as long". */
export function slowdownText(slowdown: number, error: number | null): string {
  const spread = error === null ? "" : ` ± ${error.toFixed(2)}`;
  return t`${slowdown.toFixed(2)}${spread} times as long`;
}

/** "after 1,200 steps of 3 attempts". */
export function evidence(n_steps: number, n: number): string {
  return t`after ${number(n_steps)} steps of ${plural(n, { one: "# attempt", other: "# attempts" })}`;
}
