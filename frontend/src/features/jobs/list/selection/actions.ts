// SPDX-License-Identifier: Apache-2.0
// The names of what can be done to many jobs.
import { t } from "@lingui/core/macro";

import type { BulkAction } from "./bulk";

export const ACTION_LABELS: Record<BulkAction, string> = {
  pause: t`Pause`,
  resume: t`Resume`,
  tag: t`Tag`,
  untag: t`Remove tag`,
  priority: t`Priority`,
  cancel: t`Cancel`,
  delete: t`Delete`,
};
