// SPDX-License-Identifier: Apache-2.0
// Below the timeline: why the chosen bar ends where it does. The job is asked for when its bar is chosen.
import { t } from "@lingui/core/macro";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { jobQuery, whyQuery } from "@/api/jobs";
import { TextLink } from "@/components/display/TextLink";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { attemptOf, endingText, mayHaveEnded } from "./ending";
import type { Bar } from "./rows";

export function BarEnding({ bar, since }: { bar: Bar; since: string }) {
  const id = bar.job?.id ?? "";
  const isAsked = mayHaveEnded(bar);
  const job = useQuery({ ...jobQuery(id), enabled: isAsked });
  const why = useQuery({ ...whyQuery(id), enabled: isAsked });
  if (!isAsked) return null;
  if (job.error !== null) return <ProblemAlert error={job.error} />;
  if (job.data === undefined || why.isPending) return <Text size="sm" c="dimmed">{t`Looking up why it ended …`}</Text>;
  const attempt = attemptOf(bar, since, job.data);
  const text = attempt === undefined ? "" : endingText(attempt, why.data?.history ?? []);
  if (text === "") return null;
  return (
    <Text size="sm" style={{ overflowWrap: "anywhere" }}>
      {t`Why it ended here: ${text}`} <TextLink to={`/jobs/${id}/timeline`}>{t`All attempts of the job`}</TextLink>
    </Text>
  );
}
