// SPDX-License-Identifier: Apache-2.0
// The states of an environment: the packages that code requires.
import { t } from "@lingui/core/macro";

import type { EnvironmentState } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

export const ENVIRONMENT_STATES: Record<EnvironmentState, { label: string; color: BadgeColor; sign: StateSign }> = {
  building: { label: t`Building`, color: "cyan", sign: "running" },
  ready: { label: t`Ready`, color: "teal", sign: "done" },
  failed: { label: t`Failed`, color: "red", sign: "failed" },
};
