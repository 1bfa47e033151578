// SPDX-License-Identifier: Apache-2.0
// The state of a version of a dataset or a model as icon, word and colour.
import type { VersionState } from "@/api/types";
import { VERSION_STATES } from "@/domain/states/versionState";

import { StateBadge } from "./StateBadge";

export function VersionStateBadge({ state }: { state: VersionState }) {
  return <StateBadge {...VERSION_STATES[state]} />;
}
