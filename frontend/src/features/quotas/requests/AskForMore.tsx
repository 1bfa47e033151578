// SPDX-License-Identifier: Apache-2.0
// A request for more of an owner's quota, for members who may not change it.
import { t } from "@lingui/core/macro";
import { Button, Group, SimpleGrid, Stack, Textarea } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaOwner, QuotaRequest } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { NumberInput } from "@/components/form/number/NumberInput";
import { AmountFields, type Amounts, amountsOf, NO_AMOUNTS } from "@/features/quotas/boosts/AmountFields";
import { AT_ONCE, isComplete, timesOf } from "@/features/quotas/boosts/begin";
import { BeginFields } from "@/features/quotas/boosts/BeginFields";
import { quotaRequestsKey } from "@/features/quotas/queries";

const DAY_MS = 86_400_000;

export function AskForMore({ owner }: { owner: QuotaOwner }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Stack gap={4}>
      <Group>
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={t`Ask for more for ${owner.name}`}
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {t`Ask for more`}
        </Button>
      </Group>
      {isOpen && <AskForm owner={owner} onDone={() => setIsOpen(false)} />}
    </Stack>
  );
}

function AskForm({ owner, onDone }: { owner: QuotaOwner; onDone: () => void }) {
  const [typed, setTyped] = useState(NO_AMOUNTS);
  const [begin, setBegin] = useState(AT_ONCE);
  const [days, setDays] = useState<string | number>("");
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const ask = useMutation({
    mutationFn: (extras: Amounts) =>
      asked(owner, {
        ...extras,
        ...timesOf(begin, days === "" ? null : Number(days) * DAY_MS),
        reason,
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: quotaRequestsKey });
      notifications.show({ message: t`The request for ${owner.name} waits for an answer.`, color: "teal" });
      onDone();
    },
  });
  const amounts = amountsOf(typed);
  const isEndless = begin.isLater && days === "";
  const errorOf = (field: string) => (ask.error instanceof Problem ? ask.error.of(field) : undefined);

  function submit(event: SubmitEvent) {
    event.preventDefault();
    if (amounts) ask.mutate(amounts);
  }

  return (
    <form onSubmit={submit} aria-label={t`Request for ${owner.name}`}>
      <Stack gap="xs" maw={560}>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs">
          <AmountFields owner={owner} typed={typed} onType={setTyped} errorOf={errorOf} />
          <BeginFields begin={begin} atOnce={t`with the approval`} onBegin={setBegin} error={errorOf("starts_at")} />
          <NumberInput
            {...{ label: t`For days`, placeholder: begin.isLater ? "" : t`for good`, min: 0, allowNegative: false }}
            value={days}
            onChange={setDays}
            error={errorOf("ends_at")}
          />
        </SimpleGrid>
        <Textarea
          label={t`What they are for`}
          required
          maxLength={500}
          rows={2}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          error={errorOf("reason")}
        />
        <Group>
          <Button type="submit" loading={ask.isPending} disabled={!amounts || !reason.trim() || !isComplete(begin) || isEndless}>
            {t`Ask`}
          </Button>
        </Group>
        <ProblemAlert error={ask.error} />
      </Stack>
    </form>
  );
}

type AskBody = Amounts & Pick<QuotaRequest, "starts_at" | "ends_at" | "reason">;

function asked(owner: QuotaOwner, body: AskBody): Promise<unknown> {
  const request = { params: { path: { id: owner.id } }, body };
  if (owner.kind === "organisation") return unwrap(api.POST("/api/v1/organisations/{id}/quota/requests", request));
  if (owner.kind === "team") return unwrap(api.POST("/api/v1/teams/{id}/quota/requests", request));
  return unwrap(api.POST("/api/v1/projects/{id}/quota/requests", request));
}
