// SPDX-License-Identifier: Apache-2.0
// The states of a version of a dataset or a model.
import { t } from "@lingui/core/macro";

import type { VersionState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const VERSION_STATES: Record<VersionState, { label: string; color: BadgeColor }> = {
  fetching: { label: t`Fetching`, color: "cyan" },
  inspecting: { label: t`Inspecting`, color: "cyan" },
  needs_columns: { label: t`Needs columns`, color: "yellow" },
  ready: { label: t`Ready`, color: "teal" },
  refused: { label: t`Rejected`, color: "red" },
};
