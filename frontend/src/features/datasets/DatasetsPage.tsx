// SPDX-License-Identifier: Apache-2.0
// All datasets that one may see, newest first.
import { t } from "@lingui/core/macro";
import { Button, Group, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { Dataset } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { EmptyState } from "@/components/feedback/EmptyState";
import { UPLOAD_TO, UnfinishedUploads } from "@/components/form/upload/UnfinishedUploads";
import { CatalogPage } from "@/components/layout/CatalogPage";
import { useFilters } from "@/components/table/useFilters";
import { NewDataset } from "@/features/datasets/NewDataset";
import { datasetsQuery } from "@/features/datasets/queries";
import { summary } from "@/features/datasets/schema";
import { bytes } from "@/lib/quantities";

export function DatasetsPage() {
  const { filters, filter, turn } = useFilters(["project"]);
  return (
    <CatalogPage
      title={t`Datasets`}
      subtitle={t`What jobs learn from. Each upload is inspected before it can be used.`}
      actions={<NewDataset />}
      notice={<UnfinishedUploads catalogue="datasets" />}
      project={filters.project}
      onProject={(project) => filter("project", project)}
      list={useQuery(datasetsQuery(filters))}
      empty={
        <EmptyState
          title={t`No datasets yet`}
          text={t`Upload NPZ, CSV, Parquet, JSON lines, text, WebDataset shards, or a zip of images in one folder for each class.`}
          action={
            <Button component={Link} to={`?${UPLOAD_TO}`}>
              {t`Upload a dataset`}
            </Button>
          }
        />
      }
      head={[t`Name`, t`State`, t`What is in it`, t`Size`, t`Project`, t`Uploaded`]}
      minWidth={760}
      row={(dataset) => <Row key={dataset.id} dataset={dataset} />}
      onCursor={turn}
    />
  );
}

function Row({ dataset }: { dataset: Dataset }) {
  const version = dataset.latest_version;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <TextLink to={`/datasets/${dataset.id}`} fw={500}>
            {dataset.name}
          </TextLink>
          {version && (
            <Text span size="xs" c="dimmed">
              {t`v${version.number}`}
            </Text>
          )}
        </Group>
      </Table.Td>
      <Table.Td>{version && <VersionStateBadge state={version.state} />}</Table.Td>
      <Table.Td maw={280}>{version?.error ? version.error.message : summary(version?.schema)}</Table.Td>
      <Table.Td>{bytes(version?.size_bytes)}</Table.Td>
      <Table.Td>{dataset.project.name}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={version?.created_at ?? dataset.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}
