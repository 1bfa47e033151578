// SPDX-License-Identifier: Apache-2.0
// How long the newest attempt took to start, phase by phase, and whose validation counts for the job.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Anchor, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { JobDetail } from "@/api/types";
import { FigureCard } from "@/components/chart/figure/FigureCard";
import { EnvironmentStatus } from "@/components/display/environment/EnvironmentStatus";
import { startupQuery } from "@/features/jobs/queries";
import { csvOf } from "@/lib/download";
import { shortDuration } from "@/lib/time";

import { inputsTexts, startupParts, startupText } from "./startup";

import classes from "./StartupCard.module.css";

export function StartupCard({ job }: { job: JobDetail }) {
  const { data } = useQuery(startupQuery(job));
  const environment = job.code_environment;
  if (data === undefined || (data.phases.length === 0 && environment === null)) return null;
  const parts = startupParts(data);
  return (
    <FigureCard
      title={t`Start-up`}
      of={job.name}
      csv={() => csvOf([["phase", "seconds"], ...parts.map(({ name, seconds }) => [name, seconds])])}
      isEmpty={parts.length === 0}
    >
      <Stack gap={6}>
        <Text size="sm">{startupText(data)}</Text>
        <div className={classes.phases} aria-hidden="true">
          {parts.map(({ name, share }) => (
            <span key={name} data-phase={name} style={{ flexGrow: share }} />
          ))}
        </div>
        <Group component="ul" gap="4px 16px" className={classes.list} aria-label={t`Phases of the start`}>
          {parts.map(({ name, label, seconds }) => (
            <Text key={name} component="li" size="xs" c="dimmed">
              <span className={classes.swatch} data-phase={name} />
              {label} {shortDuration(seconds)}
            </Text>
          ))}
        </Group>
        {inputsTexts(data).map((text) => (
          <Text key={text} size="xs" c="dimmed">
            {text}
          </Text>
        ))}
        {environment !== null && <EnvironmentStatus environment={environment} />}
        {job.validated_by !== null && (
          <Text size="xs" c="dimmed">
            <Trans>
              Validated earlier by{" "}
              <Anchor component={Link} to={`/jobs/${job.validated_by}`} size="xs">
                another job of the same content and settings
              </Anchor>
            </Trans>
          </Text>
        )}
      </Stack>
    </FigureCard>
  );
}
