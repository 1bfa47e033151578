// SPDX-License-Identifier: Apache-2.0
// Says that a part of a job's record is gone because its time was over, so that an empty log is not a riddle.
import { t } from "@lingui/core/macro";
import { Text } from "@mantine/core";

import type { JobDetail } from "@/api/types";
import { dateLocale } from "@/locales/locale";

type Kind = JobDetail["removed_parts"][number]["kind"];

const WHAT: Record<Kind, string> = {
  logs: t`Lines of attempts that ended`,
  metrics: t`Points of this job, which ended`,
  events: t`Events`,
  results: t`Results of attempts that ended`,
};

export function RemovedNote({ job, kinds }: { job: JobDetail; kinds: readonly Kind[] }) {
  const parts = job.removed_parts.filter(({ kind }) => kinds.includes(kind));
  return parts.map(({ kind, before, kept_days }) => (
    <Text key={kind} size="sm" c="dimmed" mb="xs" role="note">
      {t`${WHAT[kind]} before ${new Date(before).toLocaleDateString(dateLocale())} were removed after ${kept_days} days.`}
    </Text>
  ));
}
