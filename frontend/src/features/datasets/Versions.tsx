// SPDX-License-Identifier: Apache-2.0
// The versions of a dataset, to choose one from.
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
      label="Versions"
      head={["Version", "State", "Format", "What is in it", "Size", "Uploaded"]}
      empty={<EmptyState title="No versions yet" />}
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
