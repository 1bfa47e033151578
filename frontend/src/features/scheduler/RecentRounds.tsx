// SPDX-License-Identifier: Apache-2.0
// How fast scheduling was in the last hour, and how old the queue is.
import { t } from "@lingui/core/macro";

import type { Insight } from "@/api/types";
import { Facts } from "@/components/display/Facts";
import { number } from "@/lib/quantities";
import { duration } from "@/lib/time";

const WINDOW_S = 3600;

export function RecentRounds({ rounds }: { rounds: Insight["rounds"] }) {
  return (
    <Facts
      cols={5}
      facts={[
        [t`Round time, P50`, milliseconds(rounds.round_p50_ms)],
        [t`Round time, P99`, milliseconds(rounds.round_p99_ms)],
        [t`Decisions carried out`, number(rounds.n_decisions)],
        [t`Decisions per second`, number(Number((rounds.n_decisions / WINDOW_S).toPrecision(2)))],
        [t`Oldest pending job`, rounds.oldest_pending_s === null ? t`none` : duration(rounds.oldest_pending_s)],
      ]}
    />
  );
}

function milliseconds(value: number | null): string {
  return value === null ? "–" : t`${number(Math.round(value))} ms`;
}
