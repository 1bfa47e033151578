// SPDX-License-Identifier: Apache-2.0
// The answer to "what if": who would start and end earlier or later, and what would be decided now.
import { plural } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Stack, Text } from "@mantine/core";

import type { WhatIfAnswer } from "@/api/types";
import { OvercommittedAlert } from "@/components/display/quota/OvercommittedAlert";
import { number } from "@/lib/quantities";

import { EffectTable } from "./EffectTable";
import { effectsText } from "./effects";

export function WhatIfResult({ answer }: { answer: WhatIfAnswer }) {
  const { effects } = answer;
  return (
    <Stack gap="xs" role="status">
      <Text size="sm" fw={500}>
        {effectsText(effects)}
      </Text>
      <EffectTable effects={effects} />
      <OvercommittedAlert found={answer.overcommitted} isSupposed />
      <Text size="xs" c="dimmed">
        <Trans>
          The policy {answer.policy} simulated {plural(answer.n_jobs, { one: "# job", other: "# jobs" })} with and without the change, in{" "}
          {number(Math.round(answer.decide_ms))} ms. Nothing was changed.
        </Trans>
      </Text>
    </Stack>
  );
}
