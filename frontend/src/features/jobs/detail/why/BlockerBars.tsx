// SPDX-License-Identifier: Apache-2.0
// Need against have, a bar for each thing that counts; what is lacking first.
import { t } from "@lingui/core/macro";
import { Badge, Group, Stack, Text, Title } from "@mantine/core";
import { useRef } from "react";

import type { Blocker } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { TextLink } from "@/components/display/TextLink";

import { csvOf } from "@/lib/download";

import classes from "./BlockerBars.module.css";

const LABELS: Record<Blocker["kind"], string> = {
  free_gpus: t`Free GPUs`,
  placement: t`Place for the gang`,
  quota_gpus: t`GPUs of the quota`,
  quota_running_jobs: t`Running jobs of the quota`,
  quota_cpus: t`Workers within the quota's CPUs`,
  quota_memory: t`Workers within the quota's memory`,
  borrow_limit: t`GPUs, borrowed ones included`,
  borrow_limit_of_type: t`GPUs of the type, borrowed ones included`,
  borrowing: t`GPUs that may be borrowed`,
  budget: t`GPU-hours of the budget`,
  user_budget: t`GPU-hours of one person's budget`,
  user_gpus: t`Limits of users`,
  user_running_jobs: t`Running jobs`,
  user_cpus: t`Workers within one person's CPUs`,
  user_memory: t`Workers within one person's memory`,
};

/** What a larger quota gives. */
const REQUESTABLE = new Set<Blocker["kind"]>(["quota_gpus", "borrow_limit", "borrow_limit_of_type", "borrowing"]);

/** of: the job's name. */
export function BlockerBars({ of, blockers }: { of: string; blockers: Blocker[] }) {
  const drawing = useRef<HTMLDivElement>(null);
  if (blockers.length === 0) return null;
  return (
    <Stack gap={0}>
      <Group justify="space-between" gap="xs">
        <Title order={3} size="h6">{t`Need against have`}</Title>
        <FigureMenu name={t`${of}: need against have`} of={drawing} csv={() => csvOfBlockers(blockers)} />
      </Group>
      <Stack component="ul" ref={drawing} gap="sm" className={classes.list ?? ""} aria-label={t`Need against have`}>
        {blockers.map((blocker) => (
          <li key={`${blocker.kind} ${blocker.tenant} ${blocker.gpu_types.join(" ")} ${blocker.sentence}`}>
            <BlockerBar blocker={blocker} />
          </li>
        ))}
      </Stack>
    </Stack>
  );
}

function csvOfBlockers(blockers: readonly Blocker[]): string {
  const rows = blockers.map(({ kind, tenant, gpu_types, need, have, is_blocking }) => [kind, tenant, gpu_types.join(" "), need, have, String(is_blocking)]);
  return csvOf([["kind", "of", "gpu_types", "need", "have", "is_blocking"], ...rows]);
}

function BlockerBar({ blocker }: { blocker: Blocker }) {
  const { need, have, is_blocking: blocks } = blocker;
  const most = Math.max(need, have, 1);
  const label = [LABELS[blocker.kind], blocker.tenant].filter(Boolean).join(" · ");
  return (
    <>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={blocks ? 600 : 400}>
          {label}
        </Text>
        <Badge variant="light" color={blocks ? "red" : "teal"}>
          {blocks ? t`${need - have} missing` : t`enough`}
        </Badge>
      </Group>
      <div className={classes.bar} aria-hidden>
        <span className={classes.have} data-blocks={blocks} style={{ width: `${(100 * have) / most}%` }} />
        <span className={classes.need} style={{ insetInlineStart: `${(100 * need) / most}%` }} />
      </div>
      <Text size="xs" c="dimmed">
        {blocker.sentence}{" "}
        {blocks && REQUESTABLE.has(blocker.kind) && <TextLink to="/quotas">{t`Ask for more`}</TextLink>}
      </Text>
    </>
  );
}
