// SPDX-License-Identifier: Apache-2.0
// How replays and their figures are put into words.
import { plural, t } from "@lingui/core/macro";

import type { Replay, ReplayResult } from "@/api/types";
import { percent } from "@/lib/quantities";
import { clock, duration } from "@/lib/time";

const LEFT_OUT: Record<string, string> = {
  never_trained: t`ended before its first step`,
  unknown_length: t`runs and its length is not known`,
  too_large: t`is larger than the nodes or the quota allow`,
  unreadable: t`could not be read`,
};

export function sourceOf(replay: Replay): string {
  return replay.since ? t`${clock(replay.since)} to ${clock(replay.until)}` : t`Trace ${replay.trace_name}`;
}

export function titleOf(replay: Replay): string {
  return replay.name || sourceOf(replay);
}

/** "-12 %", "+3 %", "±0 %". */
export function signedPercent(part: number): string {
  const rounded = Math.round(part * 100);
  return rounded === 0 ? "±0 %" : `${rounded > 0 ? "+" : "−"}${Math.abs(rounded)} %`;
}

/** How well the simulator reproduces what happened: the first thing that the page says. */
export function reproductionText({ reproduction }: ReplayResult): string {
  if (reproduction === null) {
    return t`A trace has not happened: there is nothing to check the simulation against.`;
  }
  const { n_jobs, real_mean_jct_s, simulated_mean_jct_s, mean_error, median_job_error, p90_job_error } = reproduction;
  return (
    t`Simulated under the policy that ran, ${plural(n_jobs, { one: "# job", other: "# jobs" })} took ${duration(simulated_mean_jct_s)} on average; ` +
    t`in fact they took ${duration(real_mean_jct_s)} (${signedPercent(mean_error)}). ` +
    t`Half of the jobs are off by less than ${percent(median_job_error)}, nine of ten by less than ${percent(p90_job_error)}. ` +
    t`Differences between policies that are smaller than this error mean little.`
  );
}

/** Over which time the platform's own records reach; null of a trace. */
export function recordsText({ n_rounds, rounds_from, rounds_until }: ReplayResult): string | null {
  if (n_rounds === undefined) return null;
  if (!rounds_from || !rounds_until) {
    return t`No round of this period is stored any more: the platform keeps its newest 2,000. Nodes, quotas and policy are those of now.`;
  }
  return (
    t`Nodes, quotas and policy are known from ${plural(n_rounds, { one: "# stored round", other: "# stored rounds" })}, ${clock(rounds_from)} to ${clock(rounds_until)}: ` +
    t`the platform keeps its newest 2,000. Before the first of them they are assumed to have been the same.`
  );
}

/** What the simulation does not contain. */
export function scopeText(result: ReplayResult): string {
  const parts = [t`${plural(result.n_jobs, { one: "# job", other: "# jobs" })} on ${plural(result.n_gpus, { one: "# GPU", other: "# GPUs" })} of ${plural(result.n_nodes, { one: "# node", other: "# nodes" })}`];
  if (result.n_before > 0) parts.push(t`${plural(result.n_before, { one: "# earlier job", other: "# earlier jobs" })} only held GPUs`);
  if (result.n_absences > 0) parts.push(t`nodes were away ${plural(result.n_absences, { one: "# time", other: "# times" })}`);
  if (result.n_policies > 1) parts.push(t`${result.n_policies} policies decided in this period, the most frequent one counts as the one that ran`);
  for (const [reason, n] of Object.entries(result.left_out)) {
    parts.push(t`left out: ${plural(n, { one: "# job", other: "# jobs" })} (${LEFT_OUT[reason] ?? reason})`);
  }
  return `${parts.join("; ")}.`;
}
