// SPDX-License-Identifier: Apache-2.0
// All models that one may see, built-in ones marked, newest first.
import { t } from "@lingui/core/macro";
import { Badge, Button, Group, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { Model } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { EmptyState } from "@/components/feedback/EmptyState";
import { UnfinishedUploads, UPLOAD_TO } from "@/components/form/upload/UnfinishedUploads";
import { CatalogPage } from "@/components/layout/CatalogPage";
import { useFilters } from "@/components/table/useFilters";
import { NewModel } from "@/features/models/NewModel";
import { KINDS } from "@/features/models/kinds";
import { modelsQuery } from "@/features/models/queries";
import { number } from "@/lib/quantities";

export function ModelsPage() {
  const { filters, filter, turn } = useFilters(["project"]);
  return (
    <CatalogPage
      title={t`Models`}
      subtitle={t`The code that jobs train, and what training made of it.`}
      actions={<NewModel />}
      notice={<UnfinishedUploads catalogue="models" />}
      project={filters.project}
      onProject={(project) => filter("project", project)}
      list={useQuery(modelsQuery(filters))}
      empty={
        <EmptyState
          title={t`No models yet`}
          text={t`Upload a zip of a Python package, or a single Python file.`}
          action={
            <Button component={Link} to={`?${UPLOAD_TO}`}>
              {t`Upload a model`}
            </Button>
          }
        />
      }
      head={[t`Name`, t`State`, t`Kind`, t`Trained versions`, t`Project`, t`Uploaded`]}
      minWidth={720}
      row={(model) => <Row key={model.id} model={model} />}
      onCursor={turn}
    />
  );
}

function Row({ model }: { model: Model }) {
  const version = model.latest_version;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <TextLink to={`/models/${model.id}`} fw={500}>
            {model.name}
          </TextLink>
          {model.project === null ? (
            <Badge color="violet">{t`Built-in`}</Badge>
          ) : (
            version && (
              <Text span size="xs" c="dimmed">
                {t`v${version.number}`}
              </Text>
            )
          )}
        </Group>
      </Table.Td>
      <Table.Td>{version && <VersionStateBadge state={version.state} />}</Table.Td>
      <Table.Td>{version ? KINDS[version.kind] : model.n_logged > 0 ? KINDS.mlflow : "–"}</Table.Td>
      <Table.Td>{number(model.n_trained + model.n_logged)}</Table.Td>
      <Table.Td>{model.project?.name ?? t`Everyone's`}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={version?.created_at ?? model.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}
