// One owner's books as a bar: what it uses of its guarantee, what it borrows, what it lends, what waits.
import { Box, Group, Text } from "@mantine/core";

import type { QuotaOwner } from "@/api/types";
import classes from "@/features/quotas/quotas.module.css";
import { count, number } from "@/lib/quantities";

/** "3 of 4 guaranteed used · 1 lent · 2 borrowed · jobs wait for 4 GPUs" */
export function books(owner: QuotaOwner): string {
  const own = owner.used - owner.borrowed;
  return [
    owner.guaranteed > 0 ? `${number(own)} of ${number(owner.guaranteed)} guaranteed used` : "nothing guaranteed",
    owner.borrowed > 0 && `${number(owner.borrowed)} borrowed`,
    owner.lent > 0 && `${number(owner.lent)} lent`,
    owner.queued_gpus > 0 && `jobs wait for ${count(owner.queued_gpus, "GPU")}`,
  ]
    .filter(Boolean)
    .join(" · ");
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
      <div className={classes.bar} role="img" aria-label={`${owner.name}: ${books(owner)}`}>
        {parts.map(({ kind, n }) => (
          <span key={kind} data-kind={kind} style={{ width: `${(100 * n) / Math.max(1, most)}%` }} />
        ))}
      </div>
      <Text size="xs" c="dimmed">
        {books(owner)}
      </Text>
    </Box>
  );
}

const LEGEND = [
  ["own", "used of its guarantee"],
  ["lent", "lent"],
  ["idle", "guaranteed, idle"],
  ["borrowed", "borrowed"],
  ["queued", "wanted by waiting jobs"],
];

export function Legend() {
  return (
    <Group gap="md" aria-hidden>
      {LEGEND.map(([kind, words]) => (
        <Group key={kind} gap={6} wrap="nowrap">
          <span className={classes.mark} data-kind={kind} />
          <Text size="xs" c="dimmed">
            {words}
          </Text>
        </Group>
      ))}
    </Group>
  );
}
