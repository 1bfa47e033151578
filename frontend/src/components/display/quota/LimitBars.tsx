// SPDX-License-Identifier: Apache-2.0
// Limits of one user as bars; of every user, where nothing is used, as numbers.
import { t } from "@lingui/core/macro";
import { Group, Progress, Stack, Text } from "@mantine/core";

import type { UserQuota } from "@/api/types";
import { NEARLY_USED } from "@/domain/scheduling/budget";
import { userLimitPart, userLimitRows, userLimitText } from "@/domain/scheduling/userLimits";

/** most: so many are shown, those that are nearest to their end. */
export function UserLimitBars({ quota, name, most = Infinity }: { quota: UserQuota; name: string; most?: number }) {
  const all = userLimitRows(quota);
  const rows = all.length <= most ? all : [...all].sort((a, b) => userLimitPart(b) - userLimitPart(a)).slice(0, most);
  const nLeftOut = all.length - rows.length;
  if (rows.length === 0) return <Text size="xs" c="dimmed">{t`No limit`}</Text>;
  return (
    <Stack gap={6} component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Limits of ${name}`}>
      {rows.map((row) => (
        <li key={row.label}>
          <Group justify="space-between" gap="xs">
            <Text size="xs">{row.label}</Text>
            <Text size="xs">{userLimitText(row)}</Text>
          </Group>
          {row.used !== null && (
            <Progress
              size="sm"
              value={100 * userLimitPart(row)}
              color={userLimitPart(row) >= NEARLY_USED ? "orange" : undefined}
              aria-label={t`${row.label} of ${name}: ${userLimitText(row)} used`}
            />
          )}
        </li>
      ))}
      {nLeftOut > 0 && (
        <Text component="li" size="xs" c="dimmed">
          {t`and ${nLeftOut} more, used less`}
        </Text>
      )}
    </Stack>
  );
}
