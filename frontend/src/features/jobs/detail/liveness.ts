// SPDX-License-Identifier: Apache-2.0
// What is said next to a job's name of the stream that keeps it current.
import { t } from "@lingui/core/macro";

import type { StreamState } from "@/api/live/stream";
import { clock } from "@/lib/time";

export function liveness({ isConnected, staleSince }: StreamState): string {
  if (isConnected) return t`· live`;
  return staleSince === null ? t`· connecting…` : t`· not updated since ${clock(staleSince)}, reconnecting…`;
}
