// SPDX-License-Identifier: Apache-2.0
// The versions of a dataset, to choose one from.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { RelativeTime } from "@/components/display/RelativeTime";
import { VersionStateBadge } from "@/components/display/VersionStateBadge";
import { EmptyState } from "@/components/feedback/EmptyState";
import { VersionsTable } from "@/components/table/VersionsTable";
import { DATASET_FORMATS } from "@/domain/datasetFormat";
import { versionsQuery } from "@/features/datasets/queries";
import { summary } from "@/features/datasets/schema";
import { bytes } from "@/lib/quantities";

export function Versions({ datasetId, shownId }: { datasetId: string; shownId: string | undefined }) {
  const [cursor, setCursor] = useState<string>();
  return (
    <VersionsTable
      list={useQuery(versionsQuery(datasetId, cursor))}
      label={t`Versions`}
      head={[t`Version`, t`State`, t`Format`, t`What is in it`, t`Size`, t`Uploaded`]}
      empty={<EmptyState title={t`No versions yet`} text={t`What you upload becomes version 1.`} />}
      shownId={shownId}
      cells={(version) => [
        <VersionStateBadge key="state" state={version.state} />,
        DATASET_FORMATS[version.format].label,
        summary(version.schema),
        bytes(version.size_bytes),
        <RelativeTime key="at" at={version.created_at} />,
      ]}
      onCursor={setCursor}
    />
  );
}
