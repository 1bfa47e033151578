// "What if" in one line: choose what would be different, and see who would start and end when.
import { Button, Group, NativeSelect, NumberInput, Paper, Stack } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { whatIf } from "@/api/scheduler";
import { organisationsQuery } from "@/api/session";
import { ProblemAlert } from "@/components/ProblemAlert";

import { Effects } from "./Effects";
import { liveJobsQuery } from "./queries";
import { type Supposition, isComplete, KINDS, questionOf } from "./supposition";

export function WhatIfForm({ isStaff }: { isStaff: boolean }) {
  const jobs = useQuery(liveJobsQuery).data ?? [];
  const organisations = useQuery(organisationsQuery).data ?? [];
  const [supposed, setSupposed] = useState<Supposition>({ kind: "cancel", job: "", organisation: "", n: 1 });
  const ask = useMutation({ mutationFn: () => whatIf(questionOf(supposed)) });
  const kinds = KINDS.filter(({ isForStaff }) => isStaff || !isForStaff);
  const kind = KINDS.find(({ value }) => value === supposed.kind);

  function change(part: Partial<Supposition>) {
    setSupposed((before) => ({ ...before, ...part }));
    ask.reset();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    ask.mutate();
  }

  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label="What if">
        <Stack>
          <Group align="flex-end" gap="sm">
            <NativeSelect
              label="What would be different"
              value={supposed.kind}
              onChange={(event) => change({ kind: event.currentTarget.value as Supposition["kind"] })}
              data={kinds.map(({ value, label }) => ({ value, label }))}
            />
            {kind?.needs === "job" && (
              <NativeSelect
                label="Job"
                value={supposed.job}
                onChange={(event) => change({ job: event.currentTarget.value })}
                data={[
                  { value: "", label: jobs.length === 0 ? "No job waits or runs" : "Choose a job" },
                  ...jobs.map(({ id, name, state }) => ({ value: id, label: `${name} (${state})` })),
                ]}
              />
            )}
            {kind?.needs === "organisation" && (
              <NativeSelect
                label="Organisation"
                value={supposed.organisation}
                onChange={(event) => change({ organisation: event.currentTarget.value })}
                data={[
                  { value: "", label: "Choose an organisation" },
                  ...organisations.map(({ id, name }) => ({ value: id, label: name })),
                ]}
              />
            )}
            {kind?.number !== undefined && (
              <NumberInput
                label={kind.number}
                w={140}
                allowDecimal={false}
                min={supposed.kind === "priority" ? -100 : 0}
                value={supposed.n}
                onChange={(n) => change({ n: Number(n) })}
              />
            )}
            <Button type="submit" loading={ask.isPending} disabled={!isComplete(supposed)}>
              Ask the scheduler
            </Button>
          </Group>
          <ProblemAlert error={ask.error} />
          {ask.data && <Effects answer={ask.data} />}
        </Stack>
      </form>
    </Paper>
  );
}
