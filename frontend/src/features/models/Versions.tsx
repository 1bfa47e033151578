// SPDX-License-Identifier: Apache-2.0
// The versions of a model, to choose one from: those of the code, and those that training made.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import type { ModelVersion } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { EmptyState } from "@/components/feedback/EmptyState";
import { VersionsTable } from "@/components/table/VersionsTable";
import { KINDS } from "@/features/models/kinds";
import { metricsLine } from "@/features/models/metrics";
import { type Source, versionsQuery } from "@/features/models/queries";
import { bytes } from "@/lib/quantities";

interface Props {
  modelId: string;
  shownId: string | undefined;
}

export function TrainedVersions(props: Props) {
  return (
    <Listed
      {...props}
      source="training"
      label={t`Trained versions`}
      head={[t`Version`, t`Aliases`, t`Metrics`, t`Data`, t`Job`, t`Size`, t`Made`]}
      empty={<EmptyState title={t`Not trained yet`} text={t`Every job that succeeds adds a version with its weights here.`} />}
      cells={(version) => [
        <span key="aliases" dir="auto">
          {version.aliases.map((alias) => `@${alias}`).join(", ") || "–"}
        </span>,
        metricsLine(version.metrics),
        <span key="data" dir="auto">
          {dataOf(version)}
        </span>,
        version.job_id ? (
          <TextLink key="job" to={`/jobs/${version.job_id}`}>
            {t`Job`}
          </TextLink>
        ) : (
          "–"
        ),
        bytes(version.size_bytes),
        <RelativeTime key="at" at={version.created_at} />,
      ]}
    />
  );
}

function dataOf({ dataset_version: data, trained_on_name: dataName }: ModelVersion): string {
  if (data) return `${data.dataset.name} v${data.number}`;
  return dataName ? t`${dataName}, deleted` : "–";
}

export function CodeVersions(props: Props) {
  return (
    <Listed
      {...props}
      source="upload"
      label={t`Versions of the code`}
      head={[t`Version`, t`State`, t`Kind`, t`Entry`, t`Size`, t`Uploaded`]}
      empty={<EmptyState title={t`No code yet`} text={t`What you upload becomes version 1.`} />}
      cells={(version) => [
        <VersionStateBadge key="state" state={version.state} />,
        KINDS[version.kind],
        version.entry,
        bytes(version.size_bytes),
        <RelativeTime key="at" at={version.created_at} />,
      ]}
    />
  );
}

interface ListedProps extends Props {
  source: Source;
  label: string;
  head: string[];
  empty: ReactNode;
  cells: (version: ModelVersion) => ReactNode[];
}

function Listed({ modelId, source, ...table }: ListedProps) {
  const [cursor, setCursor] = useState<string>();
  return <VersionsTable list={useQuery(versionsQuery(modelId, source, cursor))} onCursor={setCursor} {...table} />;
}
