// SPDX-License-Identifier: Apache-2.0
// The words of a job's phases.
import { t } from "@lingui/core/macro";

import type { Phase } from "./timeline";

export const PHASES: Record<Phase, string> = {
  waiting: t`Pending`,
  starting: t`Starting`,
  training: t`Training`,
  stopping: t`Stopping`,
};
