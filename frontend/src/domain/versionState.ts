// SPDX-License-Identifier: Apache-2.0
// The states of a version of a dataset or a model.
import type { VersionState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const VERSION_STATES: Record<VersionState, { label: string; color: BadgeColor }> = {
  fetching: { label: "Fetching", color: "cyan" },
  inspecting: { label: "Inspecting", color: "cyan" },
  needs_columns: { label: "Needs columns", color: "yellow" },
  ready: { label: "Ready", color: "teal" },
  refused: { label: "Rejected", color: "red" },
};
