// SPDX-License-Identifier: Apache-2.0
// Of a version by reference: how far its fetch is, what was found at the address, and another look at it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Group, Loader, Paper, Progress, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { DatasetVersion } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ShardTable } from "@/features/datasets/source/ShardTable";
import { bytes, number } from "@/lib/quantities";

type Source = NonNullable<DatasetVersion["source"]>;

interface Props {
  version: DatasetVersion;
  source: Source;
  mayRefresh: boolean;
  onRefreshed: (version: DatasetVersion) => void;
}

export function SourcePanel({ version, source, mayRefresh, onRefreshed }: Props) {
  const queries = useQueryClient();
  const refresh = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/dataset-versions/{id}/refresh", { params: { path: { id: version.id } } })),
    onSuccess: (added) => {
      void queries.invalidateQueries({ queryKey: ["dataset"] });
      onRefreshed(added);
    },
  });
  return (
    <>
      {version.state === "fetching" && <FetchAlert queue={version.queue} progress={source.progress} />}
      <Paper withBorder p="md">
        <Stack gap="sm">
          <Facts facts={factsOf(source)} />
          {source.n_shards !== null && version.state !== "refused" && (
            <ShardTable id={version.id} n={source.n_shards} isFetching={version.state === "fetching"} />
          )}
          {mayRefresh && version.state !== "fetching" && (
            <Group>
              <Button variant="default" size="xs" loading={refresh.isPending} onClick={() => refresh.mutate()}>
                {t`Look at the address again`}
              </Button>
            </Group>
          )}
          <ProblemAlert error={refresh.error} />
        </Stack>
      </Paper>
    </>
  );
}

function FetchAlert({ queue, progress }: { queue: DatasetVersion["queue"]; progress: Source["progress"] }) {
  const isWaiting = queue !== null && !queue.is_running;
  const total = progress?.total_bytes ?? null;
  return (
    <Alert
      role="status"
      icon={<Loader size={16} />}
      title={isWaiting ? t`Waiting to be fetched` : t`MLHub is fetching the file`}
    >
      <Stack gap="xs">
        <Text size="sm">
          <Trans>
            {queue?.problem ? t`It is tried again, since the platform could not do it: ${queue.problem} ` : ""}
            {progress?.n_files !== undefined
              ? t`${number(progress.n_fetched ?? 0)} of ${number(progress.n_files)} shards, ${bytes(progress.fetched_bytes)}. `
              : progress ? t`${bytes(progress.fetched_bytes)} of ${total === null ? t`an unknown size` : bytes(total)}. ` : ""}
            It is inspected afterwards. This page follows by itself.
          </Trans>
        </Text>
        {progress?.n_files !== undefined && (
          <Progress value={(100 * (progress.n_fetched ?? 0)) / progress.n_files} aria-label={t`Progress of the fetch`} />
        )}
        {progress && total !== null && total > 0 && (
          <Progress value={(100 * progress.fetched_bytes) / total} aria-label={t`Progress of the fetch`} />
        )}
      </Stack>
    </Alert>
  );
}

function factsOf({ uri, n_shards, found, refresh_of, sha256, etag, secrets }: Source): Fact[] {
  const names = Object.values(secrets);
  const facts: [string, Fact[1] | undefined][] = [
    [t`Address`, uri || undefined],
    [t`Shards`, n_shards === null ? undefined : number(n_shards)],
    [t`Fetched`, found.fetched_at ? <RelativeTime key="fetched" at={found.fetched_at} /> : undefined],
    [t`Since the version before`, refresh_of === null ? undefined : changeIn(found.is_changed)],
    [t`Entity tag`, found.etag],
    [t`Commit`, found.revision],
    [t`Required SHA-256`, sha256],
    [t`Required entity tag`, etag],
    [t`Secrets`, names.join(", ")],
  ];
  return facts.filter((fact): fact is Fact => fact[1] !== undefined && fact[1] !== "");
}

function changeIn(isChanged: boolean | null | undefined): string | undefined {
  if (isChanged === null || isChanged === undefined) return undefined;
  return isChanged ? t`The file has changed` : t`The file has not changed`;
}
