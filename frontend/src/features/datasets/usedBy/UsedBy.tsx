// SPDX-License-Identifier: Apache-2.0
// Who used a version of a dataset: jobs, studies, and the model versions that were trained on it.
import { t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { JobStateBadge } from "@/components/display/JobStateBadge";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { TextLink } from "@/components/display/TextLink";
import { Section } from "@/components/layout/Section";
import { PagedTable } from "@/components/table/PagedTable";
import { STUDY_STATES } from "@/domain/states/studyState";
import { jobsOfQuery, studiesOfQuery, trainedOnQuery } from "@/features/datasets/queries";

export function UsedBy({ version }: { version: string }) {
  return (
    <>
      <Jobs version={version} />
      <Studies version={version} />
      <Trained version={version} />
    </>
  );
}

function Jobs({ version }: { version: string }) {
  const [cursor, setCursor] = useState<string>();
  return (
    <Section title={t`Jobs`} order={3}>
      <PagedTable
        list={useQuery(jobsOfQuery(version, cursor))}
        label={t`Jobs that read this version`}
        head={[t`Name`, t`State`, t`Read as`, t`Submitted by`, t`Submitted`]}
        empty={<None>{t`No job reads this version.`}</None>}
        row={(job) => (
          <Table.Tr key={job.id}>
            <Table.Td>
              <TextLink to={`/jobs/${job.id}`}>{job.name}</TextLink>
            </Table.Td>
            <Table.Td>
              <JobStateBadge state={job.state} />
            </Table.Td>
            <Table.Td>{namesOf(job, version)}</Table.Td>
            <Table.Td>{job.created_by.username}</Table.Td>
            <Table.Td>
              <RelativeTime at={job.submitted_at} />
            </Table.Td>
          </Table.Tr>
        )}
        onCursor={setCursor}
      />
    </Section>
  );
}

function Studies({ version }: { version: string }) {
  const [cursor, setCursor] = useState<string>();
  return (
    <Section title={t`Studies`} order={3}>
      <PagedTable
        list={useQuery(studiesOfQuery(version, cursor))}
        label={t`Studies on this version`}
        head={[t`Name`, t`State`, t`Created by`, t`Created`]}
        empty={<None>{t`No study searches on this version.`}</None>}
        row={(study) => (
          <Table.Tr key={study.id}>
            <Table.Td>
              <TextLink to={`/studies/${study.id}`}>{study.name}</TextLink>
            </Table.Td>
            <Table.Td>
              <StateBadge {...STUDY_STATES[study.state]} />
            </Table.Td>
            <Table.Td>{study.created_by.username}</Table.Td>
            <Table.Td>
              <RelativeTime at={study.created_at} />
            </Table.Td>
          </Table.Tr>
        )}
        onCursor={setCursor}
      />
    </Section>
  );
}

function Trained({ version }: { version: string }) {
  const [cursor, setCursor] = useState<string>();
  return (
    <Section title={t`Trained versions`} order={3}>
      <PagedTable
        list={useQuery(trainedOnQuery(version, cursor))}
        label={t`Model versions trained on this version`}
        head={[t`Model`, t`Job`, t`Made`]}
        empty={<None>{t`No model was trained on this version.`}</None>}
        row={(trained) => (
          <Table.Tr key={trained.id}>
            <Table.Td>
              <TextLink to={`/models/${trained.model.id}?version=${trained.id}`}>
                {t`${trained.model.name} v${trained.number}`}
              </TextLink>
            </Table.Td>
            <Table.Td>{trained.job_id === null ? "–" : <TextLink to={`/jobs/${trained.job_id}`}>{t`Job`}</TextLink>}</Table.Td>
            <Table.Td>
              <RelativeTime at={trained.created_at} />
            </Table.Td>
          </Table.Tr>
        )}
        onCursor={setCursor}
      />
    </Section>
  );
}

interface Reader {
  dataset_version: { id: string } | null;
  datasets: readonly { name: string; version: string }[];
}

/** "its dataset", and the names under which a script finds it as a further one. */
function namesOf({ dataset_version: own, datasets }: Reader, version: string): string {
  const further = datasets.filter((one) => one.version === version).map(({ name }) => name);
  return [...(own?.id === version ? [t`its dataset`] : []), ...further].join(", ");
}

function None({ children }: { children: string }) {
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  );
}
