// SPDX-License-Identifier: Apache-2.0
// What to replay: the last day or another period, or a trace from a file; and the policies to compare.
import { t } from "@lingui/core/macro";
import { Button, Group, SegmentedControl, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { Problem } from "@/api/client";
import type { ReplayCreate, SchedulerSettings } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { bytes, number } from "@/lib/quantities";
import { localTime } from "@/lib/time";

import { PolicyFields, defaultsOf } from "../PolicyFields";
import { read } from "../draft";
import { createReplay } from "./queries";

interface PolicyDraft {
  key: number;
  name: string;
  parameters: Record<string, string>;
}

const MOST_POLICIES = 5;
const DAY_MS = 86_400_000;
const MOST_CHARACTERS = 900_000; // mlhub/control/api/replay_serializers.py
const SHOWN_HERE = ["since", "until", "trace.text"];

export function NewReplayForm({ settings }: { settings: SchedulerSettings }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [source, setSource] = useState<"period" | "trace">("period");
  const [since, setSince] = useState(() => localTime(new Date(Date.now() - DAY_MS)));
  const [until, setUntil] = useState(() => localTime(new Date()));
  const [file, setFile] = useState<File | null>(null);
  const fileProblem = source === "trace" && file !== null ? problemOf(file) : null;
  const [name, setName] = useState("");
  const [policies, setPolicies] = useState<PolicyDraft[]>(() => [{ key: 0, name: otherThan(settings), parameters: {} }]);
  const start = useMutation({
    mutationFn: async () => createReplay(await bodyOf()),
    onSuccess: (replay) => {
      void queries.invalidateQueries({ queryKey: ["scheduler", "replays"] });
      void navigate(`/scheduler/lab/${replay.id}`);
    },
  });
  const problem = start.error instanceof Problem ? start.error : undefined;

  async function bodyOf(): Promise<ReplayCreate> {
    const chosen = policies.map((one) => ({ name: one.name, parameters: read(one.parameters) }));
    const about = { policies: chosen, ...(name.trim() && { name: name.trim() }) };
    if (source === "trace") return { ...about, trace: { name: file?.name ?? "trace", text: (await file?.text()) ?? "" } };
    return { ...about, since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    start.mutate();
  }

  const change = (key: number, part: Partial<PolicyDraft>) =>
    setPolicies((known) => known.map((one) => (one.key === key ? { ...one, ...part } : one)));

  const isReady = source === "trace" ? file !== null && fileProblem === null : since !== "" && until !== "";
  return (
    <form onSubmit={submit} aria-label={t`New comparison`}>
      <Stack>
        <SegmentedControl
          aria-label={t`What is replayed`}
          value={source}
          onChange={(value) => setSource(value === "trace" ? "trace" : "period")}
          data={[
            { value: "period", label: t`A past period` },
            { value: "trace", label: t`A trace file` },
          ]}
          style={{ alignSelf: "start" }}
        />
        {source === "period" ? (
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
            <TextInput type="datetime-local" label={t`From`} value={since} onChange={(e) => setSince(e.currentTarget.value)} error={problem?.of("since")} />
            <TextInput type="datetime-local" label={t`To`} value={until} onChange={(e) => setUntil(e.currentTarget.value)} error={problem?.of("until")} />
          </SimpleGrid>
        ) : (
          <TextInput
            type="file"
            label={t`Trace file`}
            description={t`CSV or JSON with job, submitted_at_s, n_gpus and duration_s, or another format of the simulator. It runs on the nodes of now.`}
            accept=".csv,.json,.trace,.txt"
            maw={480}
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
            error={fileProblem ?? problem?.of("trace.text")}
          />
        )}
        <TextInput label={t`Name`} placeholder={t`optional`} maxLength={100} maw={320} value={name} onChange={(e) => setName(e.currentTarget.value)} />
        <Text size="sm" c="dimmed">
          {source === "trace" ? t`Compared with ${settings.policy ?? ""}, which decides now:` : t`Compared with the policy that ran in the period:`}
        </Text>
        {policies.map((one, index) => (
          <Group key={one.key} align="end" gap="sm" wrap="nowrap">
            <Stack style={{ flexGrow: 1 }}>
              <PolicyFields
                label={policies.length === 1 ? t`Policy` : t`Policy ${index + 1}`}
                names={settings.policies}
                policy={one.name}
                parameters={one.parameters}
                defaults={defaultsOf(settings, one.name)}
                errorOf={(field) => problem?.of(`policies.${index}.${field}`)}
                onPolicy={(policy) => change(one.key, { name: policy, parameters: {} })}
                onParameters={(parameters) => change(one.key, { parameters })}
              />
            </Stack>
            {policies.length > 1 && (
              <Button variant="default" size="xs" onClick={() => setPolicies((known) => known.filter(({ key }) => key !== one.key))} aria-label={t`Remove policy ${index + 1}`}>
                {t`Remove`}
              </Button>
            )}
          </Group>
        ))}
        <ProblemAlert error={start.error} atFields={SHOWN_HERE} />
        <Group justify="space-between" gap="xs">
          <Button
            variant="default"
            disabled={policies.length >= MOST_POLICIES}
            onClick={() => setPolicies((known) => [...known, { key: Math.max(...known.map(({ key }) => key)) + 1, name: otherThan(settings), parameters: {} }])}
          >
            {t`Add a policy`}
          </Button>
          <Button type="submit" loading={start.isPending} disabled={!isReady}>
            {t`Compare`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** What keeps a file from being sent. Its characters are at most as many as its bytes. */
function problemOf({ size }: File): string | null {
  if (size === 0) return t`The file is empty. Choose one with a header and a row for each job.`;
  if (size <= MOST_CHARACTERS) return null;
  return t`The file has ${bytes(size)}, and a trace has at most ${number(MOST_CHARACTERS)} bytes. Keep fewer of its jobs or columns.`;
}

/** A policy worth comparing: another one than decides now. */
function otherThan(settings: SchedulerSettings): string {
  return ["srtf", "mlhub"].find((name) => name !== settings.policy && settings.policies.includes(name)) ?? settings.policies[0] ?? "";
}
