// SPDX-License-Identifier: Apache-2.0
// The states of a machine's agent: word, colour, icon, and what each means for jobs.
import { t } from "@lingui/core/macro";

import type { Agent } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

interface Shown {
  label: string;
  color: BadgeColor;
  sign: StateSign;
  /** "": the word says all. */
  meaning: string;
}

export const AGENT_STATES: Record<Agent["state"], Shown> = {
  expected: { label: t`Expected`, color: "gray", sign: "waiting", meaning: t`No agent has reported with its present token yet.` },
  connected: { label: t`Connected`, color: "teal", sign: "done", meaning: "" },
  closed: { label: t`Closed`, color: "orange", sign: "attention", meaning: t`It reports, and no job may start there.` },
  silent: { label: t`Silent`, color: "orange", sign: "attention", meaning: t`It gets no new jobs until it reports again.` },
  lost: {
    label: t`Lost contact`,
    color: "red",
    sign: "failed",
    meaning: t`Its jobs go on elsewhere. See there whether mlhub agent run runs, and what it says.`,
  },
};
