// SPDX-License-Identifier: Apache-2.0
// What became of a part of a dataset, and how that is shown.
import { t } from "@lingui/core/macro";

import type { VersionDifference } from "@/api/types";

export type VersionChange = VersionDifference["columns"][number]["change"];

export const CHANGES: Record<VersionChange, { label: string; color: string }> = {
  added: { label: t`added`, color: "teal" },
  removed: { label: t`removed`, color: "red" },
  changed: { label: t`changed`, color: "blue" },
};
