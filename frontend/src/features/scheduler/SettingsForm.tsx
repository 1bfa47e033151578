// SPDX-License-Identifier: Apache-2.0
// The policy, its parameters, its time budget and its shadow. What the API refuses is said at the input it is about.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Group, NumberInput, Paper, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { SchedulerChange, SchedulerSettings } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { PolicyFields, defaultsOf } from "./PolicyFields";
import { type Draft, changeOf, draftOf, isChanged } from "./draft";
import { settingsQuery } from "./queries";

interface Props {
  settings: SchedulerSettings;
  /** What the form begins with in place of what is saved, such as a policy of the lab. */
  proposed?: Partial<Draft> | undefined;
}

export function SettingsForm({ settings, proposed }: Props) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft>(() => ({ ...draftOf(settings), ...proposed }));
  const save = useMutation({
    mutationFn: (body: SchedulerChange) => unwrap(api.PATCH("/api/v1/scheduler/settings", { body })),
    onSuccess: (saved) => {
      queries.setQueryData(settingsQuery.queryKey, saved);
      void queries.invalidateQueries({ queryKey: ["scheduler"] });
      notifications.show({ message: t`The scheduler's settings are saved.`, color: "teal" });
    },
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate(changeOf(draft, settings));
  }

  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label={t`Settings`}>
        <Stack>
          <PolicyFields
            label={t`Policy`}
            names={settings.policies}
            policy={draft.policy}
            parameters={draft.parameters}
            defaults={defaultsOf(settings, draft.policy)}
            errorOf={(field) => problem?.of(field)}
            onPolicy={(policy) => change({ policy, parameters: {} })}
            onParameters={(parameters) => change({ parameters })}
          />
          <NumberInput
            label={t`Time budget, seconds`}
            description={t`A policy that takes longer for a round is stopped; earlier decisions stay in force.`}
            inputWrapperOrder={["label", "input", "description", "error"]}
            maw={320}
            min={0.1}
            max={600}
            value={draft.budget_s}
            onChange={(value) => change({ budget_s: Number(value) })}
            error={problem?.of("budget_s")}
          />
          <PolicyFields
            label={t`Shadow policy`}
            names={["", ...settings.policies]}
            policy={draft.shadow_policy}
            parameters={draft.shadow_parameters}
            defaults={defaultsOf(settings, draft.shadow_policy)}
            errorOf={(field) => problem?.of(`shadow_${field}`)}
            onPolicy={(shadow_policy) => change({ shadow_policy, shadow_parameters: {} })}
            onParameters={(shadow_parameters) => change({ shadow_parameters })}
          />
          <Text size="xs" c="dimmed">
            {t`The shadow policy decides in every round, too, and its decisions are never applied. An empty parameter has its default.`}
          </Text>
          <Checkbox
            label={t`Fair sharing between organisations`}
            description={t`GPUs that are guaranteed to no organisation are shared by weight, whatever the policy.`}
            checked={draft.shares_fairly}
            onChange={(event) => change({ shares_fairly: event.currentTarget.checked })}
          />
          {draft.shares_fairly && (
            <NumberInput
              label={t`Half-life of usage, hours`}
              description={t`The organisation with the lowest recent usage is next. 0: only current usage counts.`}
              inputWrapperOrder={["label", "input", "description", "error"]}
              maw={320}
              min={0}
              value={draft.half_life_h}
              onChange={(value) => change({ half_life_h: Number(value) })}
              error={problem?.of("half_life_s")}
            />
          )}
          <ProblemAlert error={save.error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" disabled={!isChanged(draft, settings)} onClick={() => setDraft(draftOf(settings))}>
              {t`Undo`}
            </Button>
            <Button type="submit" loading={save.isPending} disabled={!isChanged(draft, settings)}>
              {t`Save`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
