// SPDX-License-Identifier: Apache-2.0
// The states of a version of a dataset or a model.
import type { VersionState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const VERSION_STATES: Record<VersionState, { label: string; color: BadgeColor }> = {
  inspecting: { label: "Inspecting", color: "cyan" },
  ready: { label: "Ready", color: "teal" },
  refused: { label: "Rejected", color: "red" },
};
