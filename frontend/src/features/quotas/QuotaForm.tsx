// SPDX-License-Identifier: Apache-2.0
// Changes an organisation's limits; when someone else changed them meanwhile, says so instead of overwriting.
import { t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaPatch } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Usage } from "@/features/quotas/Usage";
import { ConflictAlert } from "@/features/quotas/changes/ConflictAlert";
import { asPatch, asTyped, type Limit, LIMITS, type Typed } from "@/features/quotas/limits";
import { quotaQuery } from "@/features/quotas/queries";

export function QuotaForm({ organisationId }: { organisationId: string }) {
  const queries = useQueryClient();
  const quota = useQuery(quotaQuery(organisationId));
  const [typed, setTyped] = useState<Typed>({});
  /** The version that was on screen when typing began: saving over a later one is refused. */
  const [version, setVersion] = useState<number | null>(null);

  function startAnew() {
    setTyped({});
    setVersion(null);
  }

  const save = useMutation({
    mutationFn: (body: QuotaPatch) =>
      unwrap(api.PATCH("/api/v1/organisations/{id}/quota", { params: { path: { id: organisationId } }, body })),
    onSuccess: (saved) => {
      queries.setQueryData(quotaQuery(organisationId).queryKey, saved);
      startAnew();
      notifications.show({ message: t`The quota is saved.`, color: "teal" });
    },
  });

  if (quota.error) return <ProblemAlert error={quota.error} onRetry={() => void quota.refetch()} />;
  if (!quota.data) return <Loading />;
  const present = quota.data;
  const problem = save.error instanceof Problem ? save.error : undefined;
  const isConflict = problem?.status === 409;

  function type(limit: Limit, value: string | number) {
    setVersion((begun) => begun ?? present.version);
    setTyped((before) => ({ ...before, [limit.name]: value }));
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate(asPatch(typed, version ?? present.version));
  }

  async function loadPresent() {
    await quota.refetch();
    startAnew();
    save.reset();
  }

  return (
    <Paper withBorder p="md" maw={760}>
      <form onSubmit={submit} aria-label={t`Quota`}>
        <Stack>
          <Usage quota={present} />
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            {LIMITS.map((limit) => (
              <NumberInput
                key={limit.name}
                label={limit.label}
                placeholder={t`No limit`}
                min={0}
                allowNegative={false}
                allowDecimal={!limit.isWhole}
                decimalScale={limit.isWhole ? 0 : 2}
                value={typed[limit.name] ?? asTyped(present, limit)}
                onChange={(value) => type(limit, value)}
                error={problem?.of(limit.name)}
              />
            ))}
          </SimpleGrid>
          <Text size="xs" c="dimmed">
            {t`An empty field is no limit.`}
          </Text>
          {isConflict ? (
            <ConflictAlert
              problem={problem}
              onTheirs={() => void loadPresent()}
              onMine={(over) => save.mutate(asPatch(typed, over))}
            />
          ) : (
            <ProblemAlert error={save.error} />
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" disabled={version === null} onClick={startAnew}>
              {t`Undo`}
            </Button>
            <Button type="submit" loading={save.isPending} disabled={version === null}>
              {t`Save`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
