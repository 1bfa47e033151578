// SPDX-License-Identifier: Apache-2.0
// What is added to an owner's rules for a time: who may change the quota adds and ends it here.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaBoost, QuotaOwner } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { NumberInput } from "@/components/form/number/NumberInput";
import { quotaTreeQuery } from "@/features/quotas/queries";

import { amountsOf, GuaranteeNote, type TypedAmounts, TypeAmounts } from "./TypeAmounts";

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
  const end = useMutation({
    mutationFn: (id: string) => unwrap(api.POST("/api/v1/quota-boosts/{id}/end", { params: { path: { id } } })),
    onSuccess: reload,
  });
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
            <Button
              size="compact-xs"
              variant="default"
              aria-label={t`End the boost of ${owner.name}: ${addedText(boost)}`}
              loading={end.isPending && end.variables === boost.id}
              onClick={() => end.mutate(boost.id)}
            >
              {t`End now`}
            </Button>
          )}
        </Group>
      ))}
      <ProblemAlert error={end.error} />
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
  const [guarantee, setGuarantee] = useState<string | number>("");
  const [maxGpus, setMaxGpus] = useState<string | number>("");
  const [types, setTypes] = useState<TypedAmounts>({});
  const [hours, setHours] = useState<string | number>(USUAL_HOURS);
  const [reason, setReason] = useState("");
  const reload = useReload(organisationId);
  const save = useMutation({
    mutationFn: () =>
      boosted(owner, {
        extra_guarantee: Number(guarantee),
        extra_max_gpus: Number(maxGpus),
        extra_gpus_by_type: amountsOf(types),
        ends_at: new Date(Date.now() + Number(hours) * HOUR_MS).toISOString(),
        reason,
      }),
    onSuccess: async () => {
      await reload();
      notifications.show({ message: t`${owner.name} is boosted.`, color: "teal" });
      onDone();
    },
  });
  const isNothing = !(Number(guarantee) + Number(maxGpus)) && Object.keys(amountsOf(types)).length === 0;
  const errorOf = (field: string) => (save.error instanceof Problem ? save.error.of(field) : undefined);

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Boost of ${owner.name}`}>
      <Group gap="xs" align="end">
        <NumberInput
          {...{ label: t`More guaranteed GPUs`, w: 170, min: 0, allowNegative: false, allowDecimal: false }}
          value={guarantee}
          onChange={setGuarantee}
          error={errorOf("extra_guarantee")}
        />
        {owner.max_gpus !== null && (
          <NumberInput
            {...{ label: t`More GPUs at most`, w: 170, min: 0, allowNegative: false, allowDecimal: false }}
            value={maxGpus}
            onChange={setMaxGpus}
            error={errorOf("extra_max_gpus")}
          />
        )}
        <TypeAmounts limits={owner.gpus_by_type} typed={types} onType={setTypes} error={errorOf("extra_gpus_by_type")} />
        <NumberInput
          {...{ label: t`For hours`, w: 100, min: 0, max: MOST_HOURS, clampBehavior: "strict", allowNegative: false }}
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
        <Button type="submit" loading={save.isPending} disabled={isNothing || !Number(hours)}>
          {t`Boost until then`}
        </Button>
      </Group>
      <GuaranteeNote limits={owner.gpus_by_type} />
      <ProblemAlert error={save.error} />
    </form>
  );
}

function useReload(organisationId: string) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey });
}

type Amounts = Pick<QuotaBoost, "extra_guarantee" | "extra_max_gpus" | "extra_gpus_by_type">;

/** "+2 guaranteed, +4 at most, +1 A100 at most" */
export function addedText({ extra_guarantee, extra_max_gpus, extra_gpus_by_type }: Amounts): string {
  return [
    extra_guarantee > 0 && t`+${extra_guarantee} guaranteed`,
    extra_max_gpus > 0 && t`+${extra_max_gpus} at most`,
    ...Object.entries(extra_gpus_by_type).map(([type, n]) => t`+${n} ${type} at most`),
  ]
    .filter(Boolean)
    .join(", ");
}

type BoostBody = Amounts & { ends_at: string; reason: string };

function boosted(owner: QuotaOwner, body: BoostBody): Promise<unknown> {
  const request = { params: { path: { id: owner.id } }, body };
  if (owner.kind === "organisation") return unwrap(api.POST("/api/v1/organisations/{id}/quota/boosts", request));
  if (owner.kind === "team") return unwrap(api.POST("/api/v1/teams/{id}/quota/boosts", request));
  return unwrap(api.POST("/api/v1/projects/{id}/quota/boosts", request));
}
