// SPDX-License-Identifier: Apache-2.0
// What a job left: files to download, and to look at where they are text, tables or pictures.
import { t } from "@lingui/core/macro";
import { Anchor, Button, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";

import type { JobDetail } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { SectionCard } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { isOver } from "@/domain/states/jobState";
import { artifactsQuery } from "@/features/jobs/queries";
import { lazyComponent } from "@/lib/chunk";
import { bytes } from "@/lib/quantities";

import { type PreviewKind, previewKindOf } from "./preview";

const FilePreview = lazyComponent(async () => (await import("./FilePreview")).FilePreview);

interface Shown {
  name: string;
  size_bytes: number;
  kind: PreviewKind;
}

export function FilesCard({ job }: { job: JobDetail }) {
  const { data: files = [], isPending, error, refetch } = useQuery(artifactsQuery(job));
  const [shown, setShown] = useState<Shown | null>(null);
  if (files.length === 0 && error !== null) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (files.length === 0) return isPending ? null : <NoFiles job={job} />;
  const addressOf = (name: string) =>
    `/api/v1/jobs/${job.id}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`;
  return (
    <SectionCard title={t`Files`}>
      <ScrollTable label={t`Artifacts`} head={[t`Artifact`, t`Size`, t`Written`, ""]} minWidth={420}>
        {files.map(({ name, size_bytes, at }) => {
          const kind = previewKindOf({ name, size_bytes });
          return (
            <Table.Tr key={name}>
              <Table.Td>
                <Anchor href={addressOf(name)} download size="sm">
                  {name}
                </Anchor>
              </Table.Td>
              <Table.Td style={{ whiteSpace: "nowrap" }}>{bytes(size_bytes)}</Table.Td>
              <Table.Td style={{ whiteSpace: "nowrap" }}>
                <RelativeTime at={at} />
              </Table.Td>
              <Table.Td>
                {kind && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    aria-label={t`Preview ${name}`}
                    onClick={() => setShown({ name, size_bytes, kind })}
                  >
                    {t`Preview`}
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          );
        })}
      </ScrollTable>
      {shown && (
        <Suspense fallback={null}>
          <FilePreview {...shown} address={addressOf(shown.name)} onClose={() => setShown(null)} />
        </Suspense>
      )}
    </SectionCard>
  );
}

function NoFiles({ job }: { job: JobDetail }) {
  return (
    <EmptyState
      title={t`No files`}
      text={isOver(job) ? t`It left no files. A script leaves files by writing them into its output folder (MLHUB_OUTPUT_DIR).` : t`Files that it writes appear here.`}
    />
  );
}
