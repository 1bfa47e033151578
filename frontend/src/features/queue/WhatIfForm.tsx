// SPDX-License-Identifier: Apache-2.0
// "What if" in one line: choose what would be different, and see who would start and end when.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, NumberInput, Paper, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { liveJobChoices } from "@/api/choices";
import { whatIf } from "@/api/scheduler";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { OrganisationSelect } from "@/components/form/choice/OrganisationSelect";
import { SearchSelect } from "@/components/form/choice/SearchSelect";
import { JOB_STATES } from "@/domain/states/jobState";

import { WhatIfResult } from "./WhatIfResult";
import { type WhatIfDraft, isComplete, KINDS, whatIfRequestOf } from "./whatIfDraft";

export function WhatIfForm({ isStaff }: { isStaff: boolean }) {
  const [draft, setDraft] = useState<WhatIfDraft>({ kind: "cancel", job: "", organisation: "", n: 1 });
  const ask = useMutation({ mutationFn: () => whatIf(whatIfRequestOf(draft)) });
  const kinds = KINDS.filter(({ isForStaff }) => isStaff || !isForStaff);
  const kind = KINDS.find(({ value }) => value === draft.kind);

  function change(part: Partial<WhatIfDraft>) {
    setDraft((before) => ({ ...before, ...part }));
    ask.reset();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    ask.mutate();
  }

  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label={t`What if`}>
        <Stack>
          <Group align="flex-end" gap="sm">
            <NativeSelect
              label={t`What would be different`}
              value={draft.kind}
              onChange={(event) => change({ kind: event.currentTarget.value as WhatIfDraft["kind"] })}
              data={kinds.map(({ value, label }) => ({ value, label }))}
            />
            {kind?.needs === "job" && (
              <SearchSelect
                source={liveJobChoices}
                label={t`Job`}
                placeholder={t`Choose a job`}
                nothingFoundMessage={t`No job is pending or running`}
                textOf={({ name, state }) => `${name} (${JOB_STATES[state].label})`}
                value={draft.job}
                onChange={(job) => change({ job })}
              />
            )}
            {kind?.needs === "organisation" && (
              <OrganisationSelect
                placeholder={t`Choose an organisation`}
                value={draft.organisation}
                onChange={(organisation) => change({ organisation })}
              />
            )}
            {kind?.number !== undefined && (
              <NumberInput
                label={kind.number}
                w={140}
                allowDecimal={false}
                min={draft.kind === "priority" ? -100 : 0}
                value={draft.n}
                onChange={(n) => change({ n: Number(n) })}
              />
            )}
            <Button type="submit" loading={ask.isPending} disabled={!isComplete(draft)}>
              {t`Ask the scheduler`}
            </Button>
          </Group>
          <ProblemAlert error={ask.error} />
          {ask.data && <WhatIfResult answer={ask.data} />}
        </Stack>
      </form>
    </Paper>
  );
}
