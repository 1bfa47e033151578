// SPDX-License-Identifier: Apache-2.0
// Where the shadow policy would have decided differently, over the newest rounds.
import { t } from "@lingui/core/macro";
import { Stack, Text } from "@mantine/core";

import type { Insight } from "@/api/types";
import { Facts } from "@/components/display/Facts";
import { number, percent } from "@/lib/quantities";
import { duration } from "@/lib/time";

type Summary = NonNullable<Insight["shadow"]>;

export function ShadowSummary({ shadow }: { shadow: Summary }) {
  return (
    <Stack gap="xs">
      <Facts
        facts={[
          [t`Rounds compared`, number(shadow.n_rounds)],
          [t`Decisions that differ`, differing(shadow)],
          [t`Mean predicted remaining time`, duration(shadow.mean_finish_s)],
          [t`The same of the active policy`, duration(shadow.real_mean_finish_s)],
          [t`Median decision time`, shadow.decide_ms === null ? "–" : t`${number(Math.round(shadow.decide_ms))} ms`],
          [t`Failed rounds`, number(shadow.n_failed)],
        ]}
      />
      {shadow.last_error !== "" && (
        <Text size="sm" c="red" style={{ overflowWrap: "anywhere" }}>
          {shadow.last_error}
        </Text>
      )}
    </Stack>
  );
}

function differing({ n_different, n_decisions }: Summary): string {
  if (n_decisions === 0) return "–";
  return t`${number(n_different)} of ${number(n_decisions)} (${percent(n_different / n_decisions)})`;
}
