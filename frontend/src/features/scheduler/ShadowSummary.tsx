// What the second policy would have done otherwise, over the newest rounds.
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
          ["Rounds looked at", number(shadow.n_rounds)],
          ["Decisions that differ", differing(shadow)],
          ["Mean time to the end, its prediction", duration(shadow.mean_finish_s)],
          ["The deciding policy's prediction", duration(shadow.real_mean_finish_s)],
          ["Time to decide, median", shadow.decide_ms === null ? "–" : `${number(Math.round(shadow.decide_ms))} ms`],
          ["Rounds it failed", number(shadow.n_failed)],
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
  return `${number(n_different)} of ${number(n_decisions)} (${percent(n_different / n_decisions)})`;
}
