// SPDX-License-Identifier: Apache-2.0
// The tabs of a job's page: their addresses, names and when there is one. Addresses of the former page lead to them.
import { t } from "@lingui/core/macro";

import type { JobDetail } from "@/api/types";

const TAB_NAMES = [
  "overview", "why", "timeline", "metrics", "logs", "profile", "placement", "checkpoints", "artifacts", "code", "configuration", "events",
] as const;
export type TabName = (typeof TAB_NAMES)[number];

export const TAB_LABELS: Record<TabName, string> = {
  overview: t`Overview`,
  why: t`Why`,
  timeline: t`Timeline`,
  metrics: t`Metrics`,
  logs: t`Logs`,
  profile: t`Profile`,
  placement: t`Placement`,
  checkpoints: t`Checkpoints`,
  artifacts: t`Artifacts`,
  code: t`Code and environment`,
  configuration: t`Configuration`,
  events: t`Events`,
};

/** By the former page's anchors, which people have in notes and messages. */
const FORMER: Record<string, TabName> = {
  "#metrics": "metrics",
  "#files": "artifacts",
  "#start-up": "timeline",
  "#profile": "profile",
  "#resource-use": "profile",
  "#checkpoints": "checkpoints",
  "#attempts": "timeline",
  "#scheduling-decisions": "why",
  "#what-it-waits-for": "why",
  "#what-would-make-it-faster": "why",
  "#log": "logs",
  "#events": "events",
  "#configuration": "configuration",
  "#resources": "placement",
};

/** Notebooks neither report metrics nor write checkpoints; only training has checkpoints. */
export function tabsOf({ kind }: Pick<JobDetail, "kind">): readonly TabName[] {
  if (kind === "train") return TAB_NAMES;
  return TAB_NAMES.filter((name) => name !== "checkpoints" && (kind !== "notebook" || name !== "metrics"));
}

/** The tab of an address: `name` is its last part, `hash` what the former page had there. */
export function tabOf(name: string | undefined, hash: string): TabName {
  if (name === undefined) return FORMER[hash] ?? "overview";
  return TAB_NAMES.find((known) => known === name) ?? "overview";
}

export function tabAddress(id: string, tab: TabName): string {
  return tab === "overview" ? `/jobs/${id}` : `/jobs/${id}/${tab}`;
}
