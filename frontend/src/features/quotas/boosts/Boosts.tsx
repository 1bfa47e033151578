// SPDX-License-Identifier: Apache-2.0
// What is added to an owner's rules for a time: who may change the quota adds and ends it here.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaOwner } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { NumberInput } from "@/components/form/number/NumberInput";
import {
  addedText,
  AmountFields,
  type Amounts,
  amountsOf,
  NO_AMOUNTS,
  type TypedAmounts,
} from "@/features/quotas/boosts/AmountFields";
import { ImpactAlert } from "@/features/quotas/changes/ImpactAlert";
import { quotaTreeQuery } from "@/features/quotas/queries";

interface Props {
  owner: QuotaOwner;
  organisationId: string;
  mayEdit: boolean;
}

const HOUR_MS = 3_600_000;
const USUAL_HOURS = 24;
const MOST_HOURS = 366 * 24; // what the platform takes

export function Boosts({ owner, organisationId, mayEdit }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const reload = useReload(organisationId);

  async function end(id: string) {
    await unwrap(api.POST("/api/v1/quota-boosts/{id}/end", { params: { path: { id } } }));
    await reload();
  }

  return (
    <Stack gap={4} mt={4}>
      {owner.boosts.map((boost) => (
        <Group key={boost.id} gap="xs">
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            <Trans>
              Boost: {addedText(boost)}, ends <RelativeTime at={boost.ends_at} />
              {boost.reason && ` (${boost.reason})`}
            </Trans>
          </Text>
          {mayEdit && (
            <ConfirmButton
              label={t`End now`}
              size="compact-xs"
              ariaLabel={t`End the boost of ${owner.name}: ${addedText(boost)}`}
              title={t`End the boost of ${owner.name}?`}
              text={t`From the next scheduling round on it has its usual quota again: without ${addedText(boost)}. Jobs above that save a checkpoint and wait.`}
              action={() => end(boost.id)}
            />
          )}
        </Group>
      ))}
      {mayEdit && (
        <Group>
          <Button
            size="compact-xs"
            variant="subtle"
            aria-label={t`Boost ${owner.name}`}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {t`Boost`}
          </Button>
        </Group>
      )}
      {isOpen && <BoostForm owner={owner} organisationId={organisationId} onDone={() => setIsOpen(false)} />}
    </Stack>
  );
}

function BoostForm({ owner, organisationId, onDone }: Omit<Props, "mayEdit"> & { onDone: () => void }) {
  const [typed, setTyped] = useState(NO_AMOUNTS);
  const [hours, setHours] = useState<string | number>(USUAL_HOURS);
  const [reason, setReason] = useState("");
  const reload = useReload(organisationId);
  const amounts = amountsOf(typed);
  const preview = useMutation({
    mutationFn: (extras: Amounts) =>
      unwrap(api.POST("/api/v1/what-if", { body: { quotas: [{ ...extras, [owner.kind]: owner.id }] } })),
  });
  const save = useMutation({
    mutationFn: (extras: Amounts) =>
      boosted(owner, { ...extras, ends_at: new Date(Date.now() + Number(hours) * HOUR_MS).toISOString(), reason }),
    onSuccess: async () => {
      await reload();
      notifications.show({ message: t`${owner.name} is boosted.`, color: "teal" });
      onDone();
    },
  });
  const error = save.error ?? preview.error;
  const errorOf = (field: string) => (error instanceof Problem ? error.of(field) : undefined);

  function type(next: TypedAmounts) {
    setTyped(next);
    preview.reset();
    save.reset();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    if (amounts) save.mutate(amounts);
  }

  return (
    <form onSubmit={submit} aria-label={t`Boost of ${owner.name}`}>
      <Stack gap="xs">
        <SimpleGrid cols={{ base: 1, xs: 2, sm: 4 }} spacing="xs">
          <AmountFields owner={owner} typed={typed} onType={type} errorOf={errorOf} />
          <NumberInput
            {...{ label: t`For hours`, min: 0, max: MOST_HOURS, clampBehavior: "strict", allowNegative: false }}
            value={hours}
            onChange={setHours}
            error={errorOf("ends_at")}
          />
          <TextInput
            label={t`Reason`}
            maxLength={200}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            error={errorOf("reason")}
          />
        </SimpleGrid>
        {preview.data && <ImpactAlert answer={preview.data} />}
        <ProblemAlert error={error} />
        <Group gap="xs">
          <Button
            variant="default"
            loading={preview.isPending}
            disabled={!amounts}
            onClick={() => amounts && preview.mutate(amounts)}
          >
            {t`What would happen?`}
          </Button>
          <Button type="submit" loading={save.isPending} disabled={!amounts || !Number(hours)}>
            {t`Boost until then`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useReload(organisationId: string) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey });
}

type BoostBody = Amounts & { ends_at: string; reason: string };

function boosted(owner: QuotaOwner, body: BoostBody): Promise<unknown> {
  const request = { params: { path: { id: owner.id } }, body };
  if (owner.kind === "organisation") return unwrap(api.POST("/api/v1/organisations/{id}/quota/boosts", request));
  if (owner.kind === "team") return unwrap(api.POST("/api/v1/teams/{id}/quota/boosts", request));
  return unwrap(api.POST("/api/v1/projects/{id}/quota/boosts", request));
}
