// SPDX-License-Identifier: Apache-2.0
// A boost that is made: what it adds, from when on and for how long, and what it would do to jobs.
import { t } from "@lingui/core/macro";
import { Button, Group, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaBoost, QuotaOwner } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { NumberInput } from "@/components/form/number/NumberInput";
import { AmountFields, type Amounts, amountsOf, NO_AMOUNTS, type TypedAmounts } from "@/features/quotas/boosts/AmountFields";
import { AT_ONCE, isComplete, timesOf, type TypedBegin, windowText } from "@/features/quotas/boosts/begin";
import { BeginFields } from "@/features/quotas/boosts/BeginFields";
import { ImpactAlert } from "@/features/quotas/changes/ImpactAlert";
import { useReloadedTree } from "@/features/quotas/queries";

interface Props {
  owner: QuotaOwner;
  organisationId: string;
  onDone: () => void;
}

const HOUR_MS = 3_600_000;
const USUAL_HOURS = 24;
const MOST_HOURS = 366 * 24; // what the platform takes

export function BoostForm({ owner, organisationId, onDone }: Props) {
  const [typed, setTyped] = useState(NO_AMOUNTS);
  const [begin, setBegin] = useState(AT_ONCE);
  const [hours, setHours] = useState<string | number>(USUAL_HOURS);
  const [reason, setReason] = useState("");
  const reload = useReloadedTree(organisationId);
  const amounts = amountsOf(typed);
  const preview = useMutation({
    mutationFn: (extras: Amounts) =>
      unwrap(api.POST("/api/v1/what-if", { body: { quotas: [{ ...extras, [owner.kind]: owner.id }] } })),
  });
  const save = useMutation({
    mutationFn: (extras: Amounts) => {
      const { starts_at, ends_at } = timesOf(begin, Number(hours) * HOUR_MS);
      return boosted(owner, { ...extras, starts_at, ends_at: ends_at ?? "", reason });
    },
    onSuccess: async (made) => {
      await reload();
      const message = made.is_in_effect ? t`${owner.name} is boosted.` : t`Reserved for ${owner.name} ${windowText(made)}.`;
      notifications.show({ message, color: "teal" });
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

  function choose(next: TypedBegin) {
    setBegin(next);
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
          <BeginFields begin={begin} atOnce={t`now`} onBegin={choose} error={errorOf("starts_at")} />
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
        {preview.data && <ImpactAlert answer={preview.data} isOfLater={begin.isLater} />}
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
          <Button type="submit" loading={save.isPending} disabled={!amounts || !Number(hours) || !isComplete(begin)}>
            {begin.isLater ? t`Reserve` : t`Boost until then`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type BoostBody = Amounts & { starts_at: string | null; ends_at: string; reason: string };

function boosted(owner: QuotaOwner, body: BoostBody): Promise<QuotaBoost> {
  const request = { params: { path: { id: owner.id } }, body };
  if (owner.kind === "organisation") return unwrap(api.POST("/api/v1/organisations/{id}/quota/boosts", request));
  if (owner.kind === "team") return unwrap(api.POST("/api/v1/teams/{id}/quota/boosts", request));
  return unwrap(api.POST("/api/v1/projects/{id}/quota/boosts", request));
}
