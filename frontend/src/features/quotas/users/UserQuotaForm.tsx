// SPDX-License-Identifier: Apache-2.0
// The form of one user's limits, or of everyone's: only what is typed is changed.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaOwner, UserQuota } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountSelect } from "@/components/form/choice/AccountSelect";
import { BudgetFields } from "@/features/quotas/BudgetFields";
import { ConflictAlert } from "@/features/quotas/changes/ConflictAlert";
import { ImpactAlert } from "@/features/quotas/changes/ImpactAlert";
import type { TypedBudget } from "@/features/quotas/rules";
import { LimitFields } from "@/features/quotas/nodes/LimitFields";
import { asTypes } from "@/features/quotas/nodes/typesText";
import { limited, userQuotasQuery } from "@/features/quotas/users/queries";
import { asLimits, type TypedUserLimits, USER_COUNTS } from "@/features/quotas/users/typedLimits";

interface Props {
  owner: QuotaOwner;
  organisationId: string;
  /** What holds now; undefined: there are no limits yet. */
  quota: UserQuota | undefined;
  /** null: everyone; undefined: the person is still to be named. */
  user: UserQuota["user"] | undefined;
  onDone: () => void;
}

export function UserQuotaForm({ owner, organisationId, quota, user, onDone }: Props) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState<TypedUserLimits>({});
  const [person, setPerson] = useState("");
  const [version] = useState(quota?.version ?? 0);
  const isNew = user === undefined;
  const username = isNew ? person.trim() : (user?.username ?? null);
  const reload = () => queries.invalidateQueries({ queryKey: userQuotasQuery(owner).queryKey });
  const preview = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/what-if", { body: { user_quotas: [{ ...asLimits(typed), username, [owner.kind]: owner.id }] } })),
  });
  const save = useMutation({
    mutationFn: (over: number) => limited(owner, { ...asLimits(typed), username, version: over }),
    onSuccess: async () => {
      await reload();
      notifications.show({ message: t`The limits of ${username ?? t`everyone`} in ${owner.name} are saved.`, color: "teal" });
      onDone();
    },
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const isUnreadable = asTypes(typed.types ?? "") === null;
  const isIncomplete = typed.budgets?.some(({ gpu_hours }) => gpu_hours === "") ?? false;
  const cannotSave = isUnreadable || isIncomplete || (isNew ? person.trim() === "" : Object.keys(typed).length === 0);

  function type(change: TypedUserLimits) {
    setTyped((before) => ({ ...before, ...change }));
    preview.reset();
    save.reset();
  }

  function name(username: string) {
    setPerson(username);
    preview.reset();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate(version);
  }

  async function loadPresent() {
    await reload();
    onDone();
  }

  return (
    <form onSubmit={submit} aria-label={t`Limits of ${username || t`one person`} in ${owner.name}`}>
      <Stack gap="sm">
        {isNew && (
          <AccountSelect organisationId={organisationId} value={person} onChange={name} error={problem?.of("username")} />
        )}
        <LimitFields
          limits={quota}
          counts={USER_COUNTS.filter(({ name }) => name !== "max_storage_bytes" || owner.kind === "organisation")}
          typed={typed}
          onType={type}
          errorOf={(field) => problem?.of(field)}
        />
        <BudgetFields
          budgets={typed.budgets ?? (quota?.budgets as TypedBudget[] | undefined) ?? []}
          onType={(budgets) => type({ budgets })}
          errorOf={(field) => problem?.of(field)}
        />
        {preview.data && <ImpactAlert answer={preview.data} />}
        {problem?.status === 409 ? (
          <ConflictAlert problem={problem} onTheirs={() => void loadPresent()} onMine={(over) => save.mutate(over)} />
        ) : (
          <ProblemAlert error={preview.error ?? save.error} />
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onDone}>
            {t`Cancel`}
          </Button>
          <Button variant="default" loading={preview.isPending} disabled={cannotSave} onClick={() => preview.mutate()}>
            {t`What would happen?`}
          </Button>
          <Button type="submit" loading={save.isPending} disabled={cannotSave}>
            {t`Save`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
