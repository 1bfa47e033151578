// SPDX-License-Identifier: Apache-2.0
// The code that a job runs, the packages that it requires, and what to run it again with.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { Link } from "react-router";

import type { JobDetail } from "@/api/types";
import { DownloadButton } from "@/components/form/DownloadButton";
import { EnvironmentStatus } from "@/components/display/environment/EnvironmentStatus";
import { type Fact, Facts } from "@/components/display/Facts";
import { TextLink } from "@/components/display/TextLink";
import { SectionCard } from "@/components/layout/Section";
import { clock } from "@/lib/time";

export function CodeTab({ job }: { job: JobDetail }) {
  const { model_version: version, code_environment: environment, code_image: ofCode } = job;
  const image = job.image || ofCode;
  const { model } = version;
  const facts: Fact[] = [
    [t`Model`, <TextLink key="m" to={`/models/${model.id}?version=${version.id}`}>{`${model.name} v${version.number}`}</TextLink>],
    [t`Kind`, KINDS[version.kind] ?? version.kind],
  ];
  if (job.validated_at !== null) facts.push([t`Validated`, clock(job.validated_at)]);
  if (job.cloned_from !== null) facts.push([t`Cloned from`, <TextLink key="c" to={`/jobs/${job.cloned_from}`}>{t`Another job`}</TextLink>]);
  return (
    <Stack gap="md">
      <SectionCard title={t`Code`}>
        <Facts facts={facts} />
        <Group gap="xs" mt="md">
          {version.kind !== "builtin" && <DownloadButton href={`/api/v1/model-versions/${version.id}/download?what=package`}>{t`Code package`}</DownloadButton>}
          {job.cloned_from !== null && (
            <Button variant="default" component={Link} to={`/compare?jobs=${job.cloned_from},${job.id}`} h="auto" mih={36} py={6} styles={{ label: { whiteSpace: "normal" } }}>
              {t`Compare code and settings with the job it was cloned from`}
            </Button>
          )}
        </Group>
      </SectionCard>
      <SectionCard title={t`Environment`}>
        {image !== "" && (
          <Text size="sm" mb="xs" style={{ overflowWrap: "anywhere" }}>
            {job.image === "" ? (
              <Trans>
                Its workers run in the image <Code>{image}</Code>, which the code brings.
              </Trans>
            ) : (
              <Trans>
                Its workers run in the image <Code>{image}</Code>.
              </Trans>
            )}
          </Text>
        )}
        {environment === null ? (
          <Text size="sm" c="dimmed">{image === "" ? t`It requires no packages besides those of the platform.` : t`The code requires no further packages.`}</Text>
        ) : (
          <EnvironmentStatus environment={environment} />
        )}
      </SectionCard>
    </Stack>
  );
}

const KINDS: Record<string, string> = { builtin: t`Built-in`, package: t`Package`, script: t`Script` };
