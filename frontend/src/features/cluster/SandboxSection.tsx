// SPDX-License-Identifier: Apache-2.0
// For administrators: what each machine's sandbox keeps uploaded code from, and what a missing protection allows.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge, Group, List, Paper, Stack, Text, Title } from "@mantine/core";

import type { Cluster } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";

type Report = Cluster["sandbox"][number];

export function SandboxSection({ reports }: { reports: Report[] }) {
  if (reports.length === 0) return null;
  return (
    <Stack component="section" gap="xs" aria-label={t`Sandbox`}>
      <Title order={2} size="h4">
        {t`Sandbox`}
      </Title>
      {reports.map((report) => (
        <SandboxReport key={report.host} report={report} />
      ))}
    </Stack>
  );
}

function SandboxReport({ report }: { report: Report }) {
  const inForce = report.protections.filter(({ is_present }) => is_present);
  const missing = report.protections.filter(({ is_present }) => !is_present);
  return (
    <Paper withBorder p="sm" component="article" aria-label={t`Sandbox of ${report.host}`}>
      <Group gap="xs" mb="xs">
        <Text fw={600} size="sm">
          {report.host}
        </Text>
        <Badge color={report.separates_tenants ? "teal" : "red"}>
          {report.separates_tenants ? t`Organisations are kept apart` : t`Organisations are not kept apart`}
        </Badge>
        <Text size="xs" c="dimmed">
          <Trans>
            Reported <RelativeTime at={report.reported_at} />
          </Trans>
        </Text>
      </Group>
      {report.error && <Text size="sm">{t`${report.error} Uploaded code is not run there.`}</Text>}
      {missing.length > 0 && (
        <>
          <Text size="sm" fw={500}>
            {t`Missing`}
          </Text>
          <List size="sm" mb="xs" aria-label={t`Missing on ${report.host}`}>
            {missing.map(({ name, detail, consequence }) => (
              <List.Item key={name}>
                {detail} {consequence}
              </List.Item>
            ))}
          </List>
        </>
      )}
      {inForce.length > 0 && (
        <Text size="sm" c="dimmed">
          {t`In force: ${inForce.map(({ detail }) => detail).join(" ")}`}
        </Text>
      )}
    </Paper>
  );
}
