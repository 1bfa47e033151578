// SPDX-License-Identifier: Apache-2.0
// Who changed a quota, when, and what; and the return to what it was.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { QuotaOwner, QuotaVersion } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { quotaQuery, quotaTreeQuery, quotaVersionsQuery } from "@/features/quotas/queries";
import { ruleName, ruleText } from "@/features/quotas/ruleText";

interface Props {
  owner: QuotaOwner;
  organisationId: string;
  onDone: () => void;
}

export function QuotaHistory({ owner, organisationId, onDone }: Props) {
  const queries = useQueryClient();
  const versions = useQuery(quotaVersionsQuery(owner));
  const restore = useMutation({
    mutationFn: (version: number) => restored(owner, version),
    onSuccess: async (_, version) => {
      await queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey });
      await queries.invalidateQueries({ queryKey: quotaQuery(organisationId).queryKey });
      await queries.invalidateQueries({ queryKey: quotaVersionsQuery(owner).queryKey });
      notifications.show({ message: t`The quota of ${owner.name} is as at version ${version} again.`, color: "teal" });
      onDone();
    },
  });
  return (
    <QueryResult of={versions} label={t`Loading the history`}>
      {(found) => (
        <Stack gap={6} component="ol" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`History of ${owner.name}`}>
          {found.length === 0 && (
            <Text size="sm" c="dimmed">
              {t`It was never changed.`}
            </Text>
          )}
          {found.map((each) => (
            <li key={each.version}>
              <Group justify="space-between" gap="xs">
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  <Trans>
                    Version {each.version}, {each.actor ?? "MLHub"}, <RelativeTime at={each.at} />: {changeText(each)}
                  </Trans>
                </Text>
                <Button
                  size="compact-xs"
                  variant="default"
                  loading={restore.isPending && restore.variables === each.version - 1}
                  onClick={() => restore.mutate(each.version - 1)}
                >
                  {t`Restore version ${each.version - 1}`}
                </Button>
              </Group>
            </li>
          ))}
          <ProblemAlert error={restore.error} />
        </Stack>
      )}
    </QueryResult>
  );
}

/** "Guarantee 3 → 4, Budgets none → 5 GPU-hours per week" */
function changeText({ before, after }: QuotaVersion): string {
  const changed = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return changed.map((name) => `${ruleName(name)} ${ruleText(before[name])} → ${ruleText(after[name])}`).join(", ");
}

function restored(owner: QuotaOwner, version: number): Promise<unknown> {
  const request = { params: { path: { id: owner.id } }, body: { version, seen: owner.version } };
  if (owner.kind === "organisation") return unwrap(api.POST("/api/v1/organisations/{id}/quota/restore", request));
  if (owner.kind === "team") return unwrap(api.POST("/api/v1/teams/{id}/quota/restore", request));
  return unwrap(api.POST("/api/v1/projects/{id}/quota/restore", request));
}
