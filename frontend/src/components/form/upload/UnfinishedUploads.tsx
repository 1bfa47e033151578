// SPDX-License-Identifier: Apache-2.0
// Files that this browser began to send and did not finish: choosing one again goes on where it ended.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { Link } from "react-router";

import { api, unwrap } from "@/api/client";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { forgetUpload, onUploadsChanged, pagesOfUploads, storedUploads } from "@/lib/begunUploads";
import { bytes } from "@/lib/quantities";

export const unfinishedUploadsKey = ["uploads"];
/** In the address of a page: its dialogue for uploads is open, for this project. */
export const UPLOAD_TO = "upload";

type Catalogue = "datasets" | "models";

interface Props {
  /** Only those to this project. */
  project?: string | undefined;
  /** Only those that were begun on pages of this catalogue, with a way to go on, where there is no form to do so; "all": of both. */
  catalogue?: Catalogue | "all";
}

export function UnfinishedUploads({ project, catalogue }: Props) {
  const queries = useQueryClient();
  const pages = pagesOfUploads(useSyncExternalStore(onUploadsChanged, storedUploads));
  const { data } = useQuery({
    queryKey: unfinishedUploadsKey,
    queryFn: () => unwrap(api.GET("/api/v1/uploads")),
    enabled: Object.keys(pages).length > 0,
    staleTime: 0,
  });

  async function discard(id: string) {
    try {
      await unwrap(api.DELETE("/api/v1/uploads/{id}", { params: { path: { id } } }));
      forgetUpload(id);
    } finally {
      await queries.invalidateQueries({ queryKey: unfinishedUploadsKey });
    }
  }

  const unfinished = (data?.results ?? []).filter(
    ({ id, project: to }) =>
      pages[id] !== undefined &&
      (project === undefined || to.id === project) &&
      (catalogue === undefined || catalogue === "all" || catalogueOf(pages[id]) === catalogue),
  );
  if (unfinished.length === 0) return null;
  return (
    <Alert title={t`Not sent to the end`} color="blue">
      <Stack gap="xs">
        {unfinished.map(({ id, filename, offset_bytes, length_bytes, project: to }) => (
          <Group key={id} justify="space-between">
            <Text size="sm" style={{ overflowWrap: "anywhere" }}>
              {catalogue === undefined
                ? t`${filename}: ${bytes(offset_bytes)} of ${bytes(length_bytes)} have arrived. Choose the same file or folder again to go on.`
                : t`${filename} (${to.name}): ${bytes(offset_bytes)} of ${bytes(length_bytes)} have arrived.`}
            </Text>
            <Group gap="xs">
              {catalogue !== undefined && (
                <Button
                  size="compact-sm"
                  variant="default"
                  component={Link}
                  to={{ pathname: pageOf(pages[id]), search: `?${UPLOAD_TO}=${to.id}` }}
                  aria-label={t`Resume ${filename}`}
                >
                  {t`Resume`}
                </Button>
              )}
              <ConfirmButton
                label={t`Discard`}
                size="compact-sm"
                ariaLabel={t`Discard ${filename}`}
                title={t`Discard ${filename}?`}
                text={t`${bytes(offset_bytes)} of it have arrived, and are removed: it begins anew then.`}
                action={() => discard(id)}
              />
            </Group>
          </Group>
        ))}
      </Stack>
    </Alert>
  );
}

/** Where it was begun; the list of datasets where a version that stored no page has begun it. */
function pageOf(page: string | undefined): string {
  return page || "/datasets";
}

function catalogueOf(page: string): Catalogue {
  return page.startsWith("/models") ? "models" : "datasets";
}
