// SPDX-License-Identifier: Apache-2.0
// The states of an environment: the packages that code requires.
import type { EnvironmentState } from "@/api/types";
import type { BadgeColor } from "@/domain/badgeColor";

export const ENVIRONMENT_STATES: Record<EnvironmentState, { label: string; color: BadgeColor }> = {
  building: { label: "Building", color: "cyan" },
  ready: { label: "Ready", color: "teal" },
  failed: { label: "Failed", color: "red" },
};
