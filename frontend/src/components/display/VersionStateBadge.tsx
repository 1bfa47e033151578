// SPDX-License-Identifier: Apache-2.0
// The state of a version of a dataset or a model as a coloured word.
import { Badge } from "@mantine/core";

import type { VersionState } from "@/api/types";
import { VERSION_STATES } from "@/domain/versionState";

export function VersionStateBadge({ state }: { state: VersionState }) {
  const { label, color } = VERSION_STATES[state];
  return <Badge color={color}>{label}</Badge>;
}
