// SPDX-License-Identifier: Apache-2.0
// The checks of `mlhub doctor`, run when an administrator asks for them: what was found, what that means, what to do.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { PlatformCheck } from "@/api/types";
import { StateBadge } from "@/components/display/StateBadge";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

import classes from "./Announcements.module.css";

const STATES: Record<PlatformCheck["state"], { label: string; color: BadgeColor; sign: StateSign }> = {
  ok: { label: t`In order`, color: "teal", sign: "done" },
  problem: { label: t`Problem`, color: "red", sign: "failed" },
  unknown: { label: t`Not known`, color: "orange", sign: "attention" },
};
const NAMES: Record<PlatformCheck["name"], string> = {
  database: t`Database`,
  valkey: t`Valkey`,
  workers: t`Workers of the platform`,
  audit: t`Audit`,
  clock: t`Clock`,
  nodes: t`Nodes`,
  web: t`Web server`,
  rounds: t`Scheduling rounds`,
  sandbox: t`Sandbox`,
  gpus: t`GPUs`,
  disk: t`Disk`,
  folder: t`Folder`,
};

export function Checks() {
  const run = useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/platform/checks")) });
  const checks = run.data?.checks;
  return (
    <Section title={t`Checks`}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" c="dimmed">
          {t`They look at the database, the disk and other parts of this installation, change nothing, and end within 15 seconds.`}
        </Text>
        <Button size="xs" variant={checks === undefined ? "filled" : "default"} loading={run.isPending} onClick={() => run.mutate()}>
          {checks === undefined ? t`Run checks` : t`Run again`}
        </Button>
      </Group>
      <ProblemAlert error={run.error} />
      {checks !== undefined && (
        <Stack gap="xs">
          <Text size="sm" role="status">
            {summary(checks)}
          </Text>
          <ScrollTable label={t`Checks`} head={[t`Part`, t`State`, t`Found`, t`What it is for`]} minWidth={760}>
            {checks.map((check, index) => (
              <Table.Tr key={index}>
                <Table.Td>{NAMES[check.name]}</Table.Td>
                <Table.Td>
                  <StateBadge {...STATES[check.state]} />
                </Table.Td>
                <Table.Td className={classes.text}>
                  {check.detail}
                  {check.remedy !== "" && (
                    <Text size="sm" fw={500}>
                      {check.remedy}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td className={classes.text}>{check.meaning}</Table.Td>
              </Table.Tr>
            ))}
          </ScrollTable>
        </Stack>
      )}
    </Section>
  );
}

function summary(checks: PlatformCheck[]): string {
  const n = checks.filter(({ state }) => state !== "ok").length;
  return n === 0 ? t`Everything is in order.` : t`${n} of ${checks.length} need attention.`;
}
