// SPDX-License-Identifier: Apache-2.0
// How much of each limit is used.
import { t } from "@lingui/core/macro";
import { Group, Progress, Stack, Text } from "@mantine/core";

import type { Quota } from "@/api/types";
import { maxGpusNow } from "@/domain/scheduling/quota/quotaLimits";
import { LIMITS } from "@/features/quotas/limits";

const NEARLY_FULL = 0.9;

export function Usage({ quota }: { quota: Quota }) {
  return (
    <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
      {LIMITS.map((limit) => {
        const label = limit.label.replace(/ \(.*\)/, "");
        const used = limit.used(quota);
        const most = limit.name === "max_gpus" ? maxGpusNow(quota) : quota[limit.name];
        const part = most === null ? 0 : most === 0 ? 1 : used / most;
        return (
          <li key={limit.name}>
            <Group justify="space-between">
              <Text size="sm">{label}</Text>
              <Text size="sm">
                {limit.shown(used)} {most === null ? t`· no limit` : t`of ${limit.shown(most)}`}
              </Text>
            </Group>
            <Progress
              value={Math.min(part, 1) * 100}
              color={part >= NEARLY_FULL ? "orange" : undefined}
              size="sm"
              aria-label={t`${label} used`}
            />
          </li>
        );
      })}
    </Stack>
  );
}
