// SPDX-License-Identifier: Apache-2.0
// Files that this browser began to send and did not finish: choosing one again goes on where it ended.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { begunUploads, forgetUpload } from "@/lib/begunUploads";
import { bytes } from "@/lib/quantities";

const KEY = ["uploads"];

export function UnfinishedUploads({ project }: { project: string | undefined }) {
  const queries = useQueryClient();
  const [begun] = useState(() => new Set(Object.values(begunUploads())));
  const { data } = useQuery({
    queryKey: KEY,
    queryFn: () => unwrap(api.GET("/api/v1/uploads")),
    enabled: begun.size > 0,
    staleTime: 0,
  });
  const discard = useMutation({
    mutationFn: async (id: string) => {
      await unwrap(api.DELETE("/api/v1/uploads/{id}", { params: { path: { id } } }));
      forgetUpload(id);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  const unfinished = (data?.results ?? []).filter(
    (one) => begun.has(one.id) && (project === undefined || one.project.id === project),
  );
  if (unfinished.length === 0) return null;
  return (
    <Alert title={t`Not sent to the end`} color="blue">
      <Stack gap="xs">
        {unfinished.map(({ id, filename, offset_bytes, length_bytes }) => (
          <Group key={id} justify="space-between">
            <Text size="sm" style={{ overflowWrap: "anywhere" }}>
              {t`${filename}: ${bytes(offset_bytes)} of ${bytes(length_bytes)} have arrived. Choose the same file or folder again to go on.`}
            </Text>
            <Button
              size="compact-sm"
              variant="subtle"
              color="gray"
              aria-label={t`Discard ${filename}`}
              loading={discard.isPending}
              onClick={() => discard.mutate(id)}
            >
              {t`Discard`}
            </Button>
          </Group>
        ))}
      </Stack>
    </Alert>
  );
}
