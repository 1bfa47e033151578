// SPDX-License-Identifier: Apache-2.0
// How much of its limits and budgets an organisation uses, as rings.
import { t } from "@lingui/core/macro";
import { Group, RingProgress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import type { OrganisationBrief, Quota } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { QueryResult } from "@/components/feedback/QueryResult";
import { budgetName, usedPart, usedText } from "@/domain/scheduling/quota/budget";
import { maxGpusNow } from "@/domain/scheduling/quota/quotaLimits";
import { csvOf } from "@/lib/download";
import { bytes, number } from "@/lib/quantities";

import classes from "./HomePage.module.css";
import { quotaQuery } from "./queries";

const NEARLY_FULL = 0.9;

interface Ring {
  label: string;
  used: number;
  /** null: no limit. */
  most: number | null;
  /** The part that is used, 0 to 1. */
  share: number;
  text: string;
}

export function OrganisationQuota({ organisation }: { organisation: OrganisationBrief }) {
  const quota = useQuery(quotaQuery(organisation.id));
  const { name } = organisation;
  return (
    <QueryResult of={quota} label={t`Loading the quota of ${name}`}>
      {(found) => <Rings name={name} rings={ringsOf(found)} />}
    </QueryResult>
  );
}

function Rings({ name, rings }: { name: string; rings: Ring[] }) {
  const drawing = useRef<HTMLDivElement>(null);
  return (
    <Stack ref={drawing} gap={4} component="section" aria-label={t`Quota of ${name}`}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={600} truncate dir="auto" title={name}>
          {name}
        </Text>
        <FigureMenu name={t`Quota of ${name}`} of={drawing} csv={() => csvOfRings(rings)} />
      </Group>
      <div className={classes.rings}>
        {rings.map(({ label, share, text }) => (
          <Group key={label} gap={6} wrap="nowrap">
            <RingProgress
              size={44}
              thickness={5}
              roundCaps
              sections={share === 0 ? [] : [{ value: share * 100, color: share >= NEARLY_FULL ? "orange" : "indigo" }]}
              rootColor="var(--mantine-color-default-border)"
              aria-hidden
            />
            <div style={{ minWidth: 0 }}>
              <Text size="xs" c="dimmed" lh={1.25} className={classes.label} title={label} lineClamp={2}>
                {label}
              </Text>
              <Text size="sm">{text}</Text>
            </div>
          </Group>
        ))}
      </div>
    </Stack>
  );
}

function ringsOf(quota: Quota): Ring[] {
  const { used } = quota;
  return [
    limitRing(t`GPUs`, used.gpus, maxGpusNow(quota), number),
    limitRing(t`Running jobs`, used.running_jobs, quota.max_running_jobs, number),
    limitRing(t`Storage`, used.storage_bytes, quota.max_storage_bytes, bytes),
    ...quota.budgets.map((budget) => ({
      label: budgetName(budget),
      used: budget.used_gpu_hours,
      most: budget.gpu_hours,
      share: usedPart(budget),
      text: usedText(budget),
    })),
  ];
}

function limitRing(label: string, used: number, most: number | null, text: (n: number) => string): Ring {
  const share = most === null ? 0 : most === 0 ? 1 : Math.min(1, used / most);
  return { label, used, most, share, text: most === null ? t`${text(used)}, no limit` : t`${text(used)} of ${text(most)}` };
}

/** Storage in bytes. A limit that is not set is empty. */
function csvOfRings(rings: readonly Ring[]): string {
  return csvOf([["limit", "used", "at_most"], ...rings.map(({ label, used, most }) => [label, used, most])]);
}
