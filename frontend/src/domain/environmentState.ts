// SPDX-License-Identifier: Apache-2.0
// The states of an environment: the packages that code requires.
import { t } from "@lingui/core/macro";

import type { EnvironmentState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const ENVIRONMENT_STATES: Record<EnvironmentState, { label: string; color: BadgeColor }> = {
  building: { label: t`Building`, color: "cyan" },
  ready: { label: t`Ready`, color: "teal" },
  failed: { label: t`Failed`, color: "red" },
};
