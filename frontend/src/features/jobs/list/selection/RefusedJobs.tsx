// SPDX-License-Identifier: Apache-2.0
// The jobs that refused what was asked of many, each with its reason and the remedy.
import { plural, t } from "@lingui/core/macro";
import { Stack, Text } from "@mantine/core";

import type { Outcome } from "./bulk";

export function RefusedJobs({ outcomes }: { outcomes: readonly Outcome[] }) {
  const refused = outcomes.filter(({ refusal }) => refusal !== "");
  return (
    <Stack gap={4} role="alert">
      <Text size="sm">
        {t`${plural(outcomes.length - refused.length, { one: "# job", other: "# jobs" })} done; ${refused.length} refused:`}
      </Text>
      {refused.slice(0, 20).map(({ id, name, refusal, remedy }) => (
        <Text key={id} size="sm">
          {[`${name || id}:`, refusal, remedy].filter(Boolean).join(" ")}
        </Text>
      ))}
      {refused.length > 20 && <Text size="sm">{t`and ${refused.length - 20} more.`}</Text>}
    </Stack>
  );
}
