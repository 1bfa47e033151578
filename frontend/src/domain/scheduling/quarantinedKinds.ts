// SPDX-License-Identifier: Apache-2.0
// What each kind of thing is called that scheduling rounds leave out.
import { t } from "@lingui/core/macro";

import type { Cluster } from "@/api/types";

type Kind = Cluster["quarantined"][number]["kind"];

export const QUARANTINED_KINDS: Record<Kind, string> = {
  gang: t`gang`,
  pod: t`pod`,
  node: t`node`,
  gpu: t`GPU`,
  attempt: t`attempt`,
  job: t`job`,
  project: t`project`,
  quota: t`quota`,
  step: t`step of the round`,
};
