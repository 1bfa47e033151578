// SPDX-License-Identifier: Apache-2.0
// Changes one owner's rules; shows first, on request, what that would do to jobs that wait and run now.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, NumberInput, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { QuotaOwner, QuotaRules } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { BudgetFields } from "@/features/quotas/BudgetFields";
import { ConflictAlert } from "@/features/quotas/changes/ConflictAlert";
import { ImpactAlert } from "@/features/quotas/changes/ImpactAlert";
import { LimitFields } from "@/features/quotas/nodes/LimitFields";
import { COUNTS } from "@/features/quotas/nodes/typedLimits";
import { quotaQuery, quotaTreeQuery } from "@/features/quotas/queries";
import { QuotaHistory } from "@/features/quotas/QuotaHistory";
import {
  asRules,
  asHypotheticalQuota,
  halfLifeHours,
  NUMBERS,
  OF_TYPES,
  RECLAIM,
  SHARING,
  type Typed,
  typedBudgets,
} from "@/features/quotas/rules";
import { asTypes, typesText } from "@/features/quotas/nodes/typesText";

interface Props {
  owner: QuotaOwner;
  organisationId: string;
  onDone: () => void;
}

export function OwnerForm({ owner, organisationId, onDone }: Props) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState<Typed>({});
  /** The version on screen when the form was opened: saving over a later one is refused. */
  const [version] = useState(owner.version);
  const [showsHistory, setShowsHistory] = useState(false);
  const rules = asRules(typed);
  const isIncomplete = typed.budgets?.some(({ gpu_hours }) => gpu_hours === "") ?? false;
  const isUnreadable = [typed.types, ...OF_TYPES.map(({ name }) => typed[name])].some((text) => asTypes(text ?? "") === null);
  const cannotSave = Object.keys(rules).length === 0 || isIncomplete || isUnreadable;

  const preview = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/what-if", { body: { quotas: [asHypotheticalQuota(owner, rules)] } })),
  });
  const save = useMutation({
    /** over: the version that is replaced. */
    mutationFn: (over: number) => changed(owner, { ...rules, version: over }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey });
      await queries.invalidateQueries({ queryKey: quotaQuery(organisationId).queryKey });
      await queries.invalidateQueries({ queryKey: ["quota-versions"] });
      notifications.show({ message: t`The quota of ${owner.name} is saved.`, color: "teal" });
      onDone();
    },
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const isConflict = problem?.status === 409;
  const errorOf = (field: string) => problem?.of(field);

  function type(change: Typed) {
    setTyped((before) => ({ ...before, ...change }));
    preview.reset();
    if (!isConflict) save.reset(); // both versions stay in view until one of them is chosen
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate(version);
  }

  async function loadPresent() {
    await queries.invalidateQueries({ queryKey: quotaTreeQuery(organisationId).queryKey });
    onDone();
  }

  return (
    <form onSubmit={submit} aria-label={t`Quota of ${owner.name}`}>
      <Stack gap="sm" mt="xs">
        <SimpleGrid cols={{ base: 1, xs: 2, sm: 3 }}>
          {NUMBERS.map(({ name, label, description, empty }) => (
            <NumberInput
              key={name}
              label={label}
              description={description}
              placeholder={empty}
              min={0}
              allowNegative={false}
              allowDecimal={name === "weight"}
              value={typed[name] ?? owner[name] ?? ""}
              onChange={(value) => type({ [name]: value })}
              error={problem?.of(name)}
            />
          ))}
          <FieldsOfTypes owner={owner} typed={typed} onType={type} errorOf={errorOf} />
          {owner.kind !== "project" && <SharingFields owner={owner} typed={typed} onType={type} errorOf={errorOf} />}
          <NativeSelect
            label={t`Takes back`}
            description={t`what it lent, when its jobs wait`}
            data={RECLAIM}
            value={typed.reclaim ?? owner.reclaim}
            onChange={(event) => type({ reclaim: event.currentTarget.value as QuotaOwner["reclaim"] })}
            error={problem?.of("reclaim")}
          />
        </SimpleGrid>
        <LimitFields limits={owner} counts={COUNTS} typed={typed} onType={type} errorOf={errorOf} />
        <BudgetFields
          budgets={typed.budgets ?? typedBudgets(owner)}
          onType={(budgets) => type({ budgets })}
          errorOf={errorOf}
        />
        {preview.data && <ImpactAlert answer={preview.data} />}
        {isConflict ? (
          <ConflictAlert problem={problem} onTheirs={() => void loadPresent()} onMine={(over) => save.mutate(over)} />
        ) : (
          <ProblemAlert error={preview.error ?? save.error} />
        )}
        {showsHistory && <QuotaHistory owner={owner} organisationId={organisationId} onDone={onDone} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="subtle" aria-expanded={showsHistory} onClick={() => setShowsHistory(!showsHistory)}>
            {t`History`}
          </Button>
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

interface FieldProps {
  owner: QuotaOwner;
  typed: Typed;
  onType: (change: Typed) => void;
  errorOf: (field: string) => string | undefined;
}

/** GPUs of single types that it can always have back, may borrow and may lend. */
function FieldsOfTypes({ owner, typed, onType, errorOf }: FieldProps) {
  return OF_TYPES.map(({ name, label, description, empty }) => {
    const text = typed[name] ?? typesText(owner[name]);
    return (
      <TextInput
        key={name}
        label={label}
        description={description}
        placeholder={empty}
        value={text}
        onChange={(event) => onType({ [name]: event.currentTarget.value })}
        error={asTypes(text) === null ? t`Give types with numbers, as in A100: 2, T4: 4` : errorOf(name)}
      />
    );
  });
}

/** How its parts come by what none of them is guaranteed. */
function SharingFields({ owner, typed, onType, errorOf }: FieldProps) {
  const isFair = typed.shares_fairly ?? owner.shares_fairly;
  return (
    <>
      <NativeSelect
        label={t`Its parts share`}
        description={t`what none is guaranteed; counts if those above share fairly, too`}
        data={SHARING}
        value={isFair ? "fair" : "policy"}
        onChange={(event) => onType({ shares_fairly: event.currentTarget.value === "fair" })}
        error={errorOf("shares_fairly")}
      />
      {isFair && (
        <NumberInput
          label={t`Half-life of use, hours`}
          description={t`who used less lately is next; 0: only what is held now counts`}
          min={0}
          allowNegative={false}
          value={typed.half_life_h ?? halfLifeHours(owner)}
          onChange={(value) => onType({ half_life_h: value })}
          error={errorOf("half_life_s")}
        />
      )}
    </>
  );
}

function changed(owner: QuotaOwner, body: QuotaRules & { version: number }): Promise<unknown> {
  const params = { path: { id: owner.id } };
  if (owner.kind === "organisation") return unwrap(api.PATCH("/api/v1/organisations/{id}/quota", { params, body }));
  if (owner.kind === "team") return unwrap(api.PATCH("/api/v1/teams/{id}/quota", { params, body }));
  return unwrap(api.PATCH("/api/v1/projects/{id}/quota", { params, body }));
}
