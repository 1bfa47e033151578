// SPDX-License-Identifier: Apache-2.0
// What one is notified of by e-mail: each change is kept at once.
import { t } from "@lingui/core/macro";
import { Alert, Checkbox, SimpleGrid, Stack, Text } from "@mantine/core";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { MailTopic, MailNotices as Notices } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";

const BUDGET = "budget.reached";
const OWN_BUDGET = "user_budget.reached";

const REPORTS = { "usage.weekly": t`of each week`, "usage.monthly": t`of each month` } satisfies Partial<Record<MailTopic, string>>;

const JOBS: Record<Exclude<MailTopic, typeof BUDGET | typeof OWN_BUDGET | keyof typeof REPORTS>, string> = {
  "job.running": t`runs`,
  "job.succeeded": t`succeeded`,
  "job.failed": t`failed`,
  "job.cancelled": t`was cancelled`,
  "job.paused": t`was paused`,
  "job.preempted": t`gives its GPUs back and waits`,
  "job.waiting_long": t`waits for long`,
};

const noticesQuery = queryOptions({
  queryKey: ["mail notices"],
  queryFn: () => unwrap(api.GET("/api/v1/auth/notices")),
});

export function MailNotices() {
  return <QueryResult of={useQuery(noticesQuery)}>{(notices) => <Topics notices={notices} />}</QueryResult>;
}

function Topics({ notices }: { notices: Notices }) {
  const queries = useQueryClient();
  const choose = useMutation({
    mutationFn: (topics: string[]) => unwrap(api.PUT("/api/v1/auth/notices", { body: { topics: topics as MailTopic[] } })),
    onSuccess: (kept) => queries.setQueryData(noticesQuery.queryKey, kept),
  });
  if (!notices.has_mail_server) {
    return (
      <Text size="sm" c="dimmed">
        {t`This platform has no mail server; its administrators can set one (MLHUB_EMAIL_URL).`}
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      {notices.email === "" && (
        <Alert color="yellow">{t`Your account has no e-mail address: ask an administrator to enter it.`}</Alert>
      )}
      <Checkbox.Group
        label={t`Notify me when a job that I submitted`}
        description={notices.email === "" ? undefined : t`By a message to ${notices.email}`}
        value={choose.isPending ? choose.variables : notices.topics}
        onChange={(topics) => choose.mutate(topics)}
      >
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} mt={6} verticalSpacing="xs" maw={640}>
          {Object.entries(JOBS).map(([topic, label]) => (
            <Checkbox key={topic} value={topic} label={label} disabled={notices.email === ""} />
          ))}
        </SimpleGrid>
        <Text size="sm" fw={500} mt="sm" mb={6}>
          {t`Notify me when`}
        </Text>
        <Checkbox value={OWN_BUDGET} label={t`80 or 100 % of my own GPU-hours are used`} disabled={notices.email === ""} />
        <Text size="sm" fw={500} mt="sm" mb={6}>
          {t`As an admin or owner, notify me when`}
        </Text>
        <Checkbox value={BUDGET} label={t`80 or 100 % of a budget is used`} disabled={notices.email === ""} />
        <Text size="sm" fw={500} mt="sm" mb={6}>
          {t`As an admin, owner or auditor, send me the GPU-hours of my organisation`}
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} verticalSpacing="xs" maw={640}>
          {Object.entries(REPORTS).map(([topic, label]) => (
            <Checkbox key={topic} value={topic} label={label} disabled={notices.email === ""} />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
      <ProblemAlert error={choose.error} />
    </Stack>
  );
}
