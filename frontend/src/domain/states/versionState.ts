// SPDX-License-Identifier: Apache-2.0
// The states of a version of a dataset or a model.
import { t } from "@lingui/core/macro";

import type { VersionState } from "@/api/types";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

export const VERSION_STATES: Record<VersionState, { label: string; color: BadgeColor; sign: StateSign }> = {
  fetching: { label: t`Fetching`, color: "cyan", sign: "running" },
  inspecting: { label: t`Inspecting`, color: "cyan", sign: "running" },
  needs_columns: { label: t`Needs columns`, color: "yellow", sign: "attention" },
  ready: { label: t`Ready`, color: "teal", sign: "done" },
  refused: { label: t`Rejected`, color: "red", sign: "failed" },
};
