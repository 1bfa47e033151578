// SPDX-License-Identifier: Apache-2.0
// An owner's usage as a bar: used of its guarantee, borrowed, lent, and requested by pending jobs.
import { plural, t } from "@lingui/core/macro";
import { Box, Group, Text } from "@mantine/core";

import type { QuotaOwner } from "@/api/types";
import classes from "@/features/quotas/quotas.module.css";
import { csvOf } from "@/lib/download";
import { number } from "@/lib/quantities";

/** "3 of 4 guaranteed used · 1 lent · 2 borrowed · pending jobs request 4 GPUs" */
function usageText(owner: QuotaOwner): string {
  const own = owner.used - owner.borrowed;
  return [
    owner.guaranteed > 0 ? t`${number(own)} of ${number(owner.guaranteed)} guaranteed used` : t`nothing guaranteed`,
    owner.borrowed > 0 && t`${number(owner.borrowed)} borrowed`,
    owner.lent > 0 && t`${number(owner.lent)} lent`,
    owner.queued_gpus > 0 && t`pending jobs request ${plural(owner.queued_gpus, { one: "# GPU", other: "# GPUs" })}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** What the bars draw, in GPUs; `above`: in whose part it is. */
export function csvOfOwners(owners: readonly QuotaOwner[]): string {
  const names = new Map(owners.map(({ id, name }) => [id, name]));
  return csvOf([
    ["name", "kind", "above", "guaranteed", "used", "borrowed", "lent", "requested_by_pending_jobs"],
    ...owners.map((owner) => [
      owner.name, owner.kind, owner.above === null ? "" : (names.get(owner.above) ?? owner.above),
      owner.guaranteed, owner.used, owner.borrowed, owner.lent, owner.queued_gpus,
    ]),
  ]);
}

export function OwnerBar({ owner, most }: { owner: QuotaOwner; most: number }) {
  const own = owner.used - owner.borrowed;
  const idle = Math.max(0, owner.guaranteed - own - owner.lent);
  const parts = [
    { kind: "own", n: own },
    { kind: "lent", n: owner.lent },
    { kind: "idle", n: idle },
    { kind: "borrowed", n: owner.borrowed },
    { kind: "queued", n: owner.queued_gpus },
  ];
  return (
    <Box>
      <div className={classes.bar} role="img" aria-label={`${owner.name}: ${usageText(owner)}`}>
        {parts.map(({ kind, n }) => (
          <span key={kind} data-kind={kind} style={{ width: `${(100 * n) / Math.max(1, most)}%` }} />
        ))}
      </div>
      <Text size="xs" c="dimmed">
        {usageText(owner)}
      </Text>
    </Box>
  );
}

const LEGEND = [
  ["own", t`used of its guarantee`],
  ["lent", t`lent`],
  ["idle", t`guaranteed, idle`],
  ["borrowed", t`borrowed`],
  ["queued", t`requested by pending jobs`],
];

export function Legend() {
  return (
    <Group gap="md" aria-hidden>
      {LEGEND.map(([kind, label]) => (
        <Group key={kind} gap={6} wrap="nowrap">
          <span className={classes.mark} data-kind={kind} />
          <Text size="xs" c="dimmed">
            {label}
          </Text>
        </Group>
      ))}
    </Group>
  );
}
