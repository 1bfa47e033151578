// SPDX-License-Identifier: Apache-2.0
// All searches for hyperparameters that one may see, newest first.
import { t } from "@lingui/core/macro";
import { Button, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { Study } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { TextLink } from "@/components/display/TextLink";
import { EmptyState } from "@/components/feedback/EmptyState";
import { CatalogPage } from "@/components/layout/CatalogPage";
import { useFilters } from "@/components/table/useFilters";
import { STUDY_STATES } from "@/domain/states/studyState";
import { studiesQuery } from "@/features/studies/queries";
import { lastValue, shown } from "@/features/studies/values";

export function StudiesPage() {
  const { filters, filter, turn } = useFilters(["project"]);
  return (
    <CatalogPage
      title={t`Studies`}
      subtitle={t`Searches for hyperparameters: each trial is a job, and the promising ones are trained for longer.`}
      actions={
        <Button component={Link} to="/studies/new">
          {t`New study`}
        </Button>
      }
      project={filters.project}
      onProject={(project) => filter("project", project)}
      list={useQuery(studiesQuery(filters))}
      empty={
        <EmptyState
          title={t`No studies yet`}
          text={t`A study tries values of hyperparameters that you give ranges for, and finds the best.`}
          action={
            <Button component={Link} to="/studies/new">
              {t`Create a study`}
            </Button>
          }
        />
      }
      head={[t`Name`, t`State`, t`Trials`, t`Best`, t`Project`, t`Created`]}
      minWidth={640}
      row={(study) => <Row key={study.id} study={study} />}
      onCursor={turn}
    />
  );
}

function Row({ study }: { study: Study }) {
  const best = study.best === null ? undefined : lastValue(study.best);
  return (
    <Table.Tr>
      <Table.Td>
        <TextLink to={`/studies/${study.id}`} fw={500}>
          {study.name}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <StateBadge {...STUDY_STATES[study.state]} />
      </Table.Td>
      <Table.Td>
        {t`${study.n_trials} of ${study.most_trials}`}
      </Table.Td>
      <Table.Td>{best === undefined ? "–" : `${study.metric} ${shown(best)}`}</Table.Td>
      <Table.Td>{study.project.name}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={study.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}
