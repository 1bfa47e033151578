// SPDX-License-Identifier: Apache-2.0
// Limits as bars; those of which nothing is known to be used as numbers.
import { t } from "@lingui/core/macro";
import { Group, Progress, Stack, Text } from "@mantine/core";

import type { UserQuota } from "@/api/types";
import { NEARLY_USED } from "@/domain/scheduling/quota/budget";
import { type LimitRow, limitPart, limitText } from "@/domain/scheduling/quota/limits";
import { userLimitRows } from "@/domain/scheduling/quota/userLimits";

interface Props {
  rows: LimitRow[];
  name: string;
  /** So many are shown, those that are nearest to their end. */
  most?: number;
}

/** Limits of one user; of every user, where nothing is used, as numbers. */
export function UserLimitBars({ quota, ...more }: { quota: UserQuota } & Omit<Props, "rows">) {
  return <LimitBars rows={userLimitRows(quota)} {...more} />;
}

export function LimitBars({ rows: all, name, most = Infinity }: Props) {
  const rows = all.length <= most ? all : [...all].sort((a, b) => limitPart(b) - limitPart(a)).slice(0, most);
  const nLeftOut = all.length - rows.length;
  if (rows.length === 0) return <Text size="xs" c="dimmed">{t`No limit`}</Text>;
  return (
    <Stack gap={6} component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Limits of ${name}`}>
      {rows.map((row) => (
        <li key={row.label}>
          <Group justify="space-between" gap="xs">
            <Text size="xs">{row.label}</Text>
            <Text size="xs">{limitText(row)}</Text>
          </Group>
          {row.used !== null && (
            <Progress
              size="sm"
              value={100 * limitPart(row)}
              color={limitPart(row) >= NEARLY_USED ? "orange" : undefined}
              aria-label={t`${row.label} of ${name}: ${limitText(row)} used`}
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
