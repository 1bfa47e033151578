// SPDX-License-Identifier: Apache-2.0
// Requests for quota of an organisation: what waits, with the answers that the reader may give, and what was answered.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { useMe } from "@/api/session";
import type { QuotaRequest } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SectionCard } from "@/components/layout/Section";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";
import { ImpactAlert } from "@/features/quotas/changes/ImpactAlert";
import { addedText } from "@/features/quotas/boosts/AmountFields";
import { windowText } from "@/features/quotas/boosts/begin";
import { AnsweredAlert } from "@/features/quotas/requests/AnsweredAlert";
import { quotaRequestsKey, quotaRequestsQuery, quotaTreeQuery } from "@/features/quotas/queries";
import { useNow } from "@/lib/time";

interface Props {
  organisationId: string;
  /** Whether the user may change the quota of that organisation, team or project. */
  mayEdit: (kind: string, id: string) => boolean;
}

const STATES: Record<QuotaRequest["state"], { label: string; color: BadgeColor; sign: StateSign }> = {
  waiting: { label: t`Waiting`, color: "yellow", sign: "waiting" },
  approved: { label: t`Approved`, color: "teal", sign: "done" },
  refused: { label: t`Refused`, color: "red", sign: "failed" },
  withdrawn: { label: t`Withdrawn`, color: "gray", sign: "struck" },
};

export function Requests({ organisationId, mayEdit }: Props) {
  const requests = useQuery(quotaRequestsQuery(organisationId));
  if (requests.data?.length === 0) return null;
  return (
    <SectionCard title={t`Requests for quota`}>
      <QueryResult of={requests}>
        {(found) => (
          <Stack gap="md">
            {found.map((request) => (
              <RequestRow
                key={request.id}
                request={request}
                mayDecide={mayEdit(request.owner_kind, request.owner)}
              />
            ))}
          </Stack>
        )}
      </QueryResult>
    </SectionCard>
  );
}

function RequestRow({ request, mayDecide }: { request: QuotaRequest; mayDecide: boolean }) {
  const me = useMe();
  const state = STATES[request.state];
  /** Stays when the request, read again, waits no more. */
  const [conflict, setConflict] = useState<Problem | null>(null);
  const noteError = (error: Error) => setConflict(error instanceof Problem && error.status === 409 ? error : null);
  return (
    <Stack gap={4} role="group" aria-label={t`Request of ${request.requested_by} for ${request.owner_name}`}>
      <Group gap="xs">
        <StateBadge {...state} />
        <Text size="sm" fw={500} style={{ overflowWrap: "anywhere" }}>
          {request.owner_name}: {addedText(request)}
        </Text>
        <Text size="sm" c="dimmed">
          <Times request={request} />
        </Text>
      </Group>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {request.reason}
      </Text>
      <Text size="xs" c="dimmed">
        {request.requested_by} · <RelativeTime at={request.created_at} />
        {request.answered_by && ` · ${request.answered_by}`}
        {request.note && `: ${request.note}`}
      </Text>
      {request.state === "waiting" && mayDecide && <Decision request={request} onError={noteError} />}
      {request.state === "waiting" && !mayDecide && request.requested_by === me.username && (
        <Withdrawal request={request} onError={noteError} />
      )}
      {conflict && (
        <AnsweredAlert problem={conflict} labelOf={(answer) => STATES[answer].label} onDismiss={() => setConflict(null)} />
      )}
    </Stack>
  );
}

function Times({ request: { starts_at, ends_at: at, state } }: { request: QuotaRequest }) {
  const now = useNow(10);
  if (at === null) return <>{t`for good`}</>;
  const isToCome = starts_at !== null && (state !== "approved" || Date.parse(starts_at) > now);
  if (isToCome && Date.parse(at) > now) return <>{windowText({ starts_at, ends_at: at })}</>;
  return Date.parse(at) > now ? (
    <Trans>
      ends <RelativeTime at={at} />
    </Trans>
  ) : (
    <Trans>
      ended <RelativeTime at={at} />
    </Trans>
  );
}

interface AnswerProps {
  request: QuotaRequest;
  /** Of an answer that was refused. */
  onError: (error: Error) => void;
}

function Decision({ request, onError }: AnswerProps) {
  const [note, setNote] = useState("");
  const reload = useReload(request.organisation);
  const path = { params: { path: { id: request.id } } };
  const approve = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/quota-requests/{id}/approve", { ...path, body: { note } })),
    onError,
    onSettled: reload,
  });
  const preview = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/what-if", { body: { quotas: [hypotheticalQuota(request)] } })),
  });
  const refuse = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/quota-requests/{id}/refuse", { ...path, body: { note } })),
    onError,
    onSettled: reload,
  });
  return (
    <>
      <Group gap="xs" align="end">
        <TextInput
          size="xs"
          label={t`Answer to ${request.requested_by}`}
          placeholder={t`a refusal needs a reason`}
          maxLength={500}
          w={320}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <Button size="xs" variant="default" loading={preview.isPending} onClick={() => preview.mutate()}>
          {t`What would happen?`}
        </Button>
        <Button size="xs" loading={approve.isPending} disabled={refuse.isPending} onClick={() => approve.mutate()}>
          {t`Approve`}
        </Button>
        <Button
          size="xs"
          variant="default"
          loading={refuse.isPending}
          disabled={approve.isPending || !note.trim()}
          onClick={() => refuse.mutate()}
        >
          {t`Refuse`}
        </Button>
      </Group>
      {preview.data && <ImpactAlert answer={preview.data} isOfLater={request.starts_at !== null} />}
      <ProblemAlert error={otherThanAnswered(approve.error ?? refuse.error) ?? preview.error} />
    </>
  );
}

/** That someone else answered first is said by the row, which stays. */
function otherThanAnswered(error: Error | null): Error | null {
  return error instanceof Problem && error.status === 409 ? null : error;
}

/** What approving it would add, from now on. */
function hypotheticalQuota(request: QuotaRequest) {
  const { extra_guarantee, extra_guarantee_by_type, extra_max_gpus, extra_gpus_by_type } = request;
  const extras = { extra_guarantee, extra_guarantee_by_type, extra_max_gpus, extra_gpus_by_type };
  return { ...extras, [request.owner_kind]: request.owner };
}

function Withdrawal({ request, onError }: AnswerProps) {
  const reload = useReload(request.organisation);
  const withdraw = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/quota-requests/{id}/withdraw", { params: { path: { id: request.id } } })),
    onError,
    onSettled: reload,
  });
  return (
    <>
      <Group>
        <Button size="compact-xs" variant="default" loading={withdraw.isPending} onClick={() => withdraw.mutate()}>
          {t`Withdraw`}
        </Button>
      </Group>
      <ProblemAlert error={otherThanAnswered(withdraw.error)} />
    </>
  );
}

/** Two may decide at once: what the other one did is shown in any case. */
function useReload(organisationId: string) {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: quotaRequestsKey }),
      queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey }),
      queries.invalidateQueries({ queryKey: ["quota", organisationId] }),
    ]);
}
