// SPDX-License-Identifier: Apache-2.0
// Recordings of torch's profiler: ask for one while the job runs, and look at what it shows.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { canChangeJob, useMe } from "@/api/session";
import type { JobDetail, Profile } from "@/api/types";
import { useSetting } from "@/components/chart/address/useSetting";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { SectionCard } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { profilesQuery } from "@/features/jobs/queries";

import { RecordingView } from "./RecordingView";
import { isOpen, podName, ranksOf, STATES } from "./recording";

const MOST_STEPS = 50;

export function ProfilerCard({ job }: { job: JobDetail }) {
  const { data = [], error, refetch } = useQuery(profilesQuery(job));
  const me = useMe();
  const [chosen, setChosen] = useSetting("recording", "");
  const mayAsk = canChangeJob(me, job.project, job.created_by);
  const canRecord = job.kind === "train" && job.state === "running" && mayAsk;
  if (data.length === 0 && error === null && !canRecord) return null;
  const shown = data.find(({ id }) => id === chosen) ?? data.find(({ state }) => state === "done");
  return (
    <SectionCard title={t`Profiler`}>
      <Stack gap="sm">
        <ProblemAlert error={error} onRetry={() => void refetch()} />
        {canRecord && <RecordForm job={job} isBusy={data.some(isOpen)} onAsked={setChosen} />}
        {data.length > 0 && <Recordings job={job} recordings={data} mayDelete={mayAsk} onShow={setChosen} />}
        {shown !== undefined && <RecordingView key={shown.id} job={job} recording={shown} />}
      </Stack>
    </SectionCard>
  );
}

function RecordForm({ job, isBusy, onAsked }: { job: JobDetail; isBusy: boolean; onAsked: (id: string) => void }) {
  const queries = useQueryClient();
  const hasServers = (job.current_attempt?.n_servers ?? 0) > 0;
  const [steps, setSteps] = useState(5);
  const [ranks, setRanks] = useState("0");
  const [servers, setServers] = useState("");
  const ask = useMutation({
    mutationFn: () => {
      const chosen = servers.trim() === "" ? {} : { servers: ranksOf(servers) };
      return unwrap(api.POST("/api/v1/jobs/{id}/profiles", { params: { path: { id: job.id } }, body: { steps, ranks: ranksOf(ranks), ...chosen } }));
    },
    onSuccess: ({ id }) => onAsked(id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["job", job.id, "profiles"] }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        ask.mutate();
      }}
    >
      <Text size="sm" c="dimmed" mb="xs">{t`Records what torch does in the next steps of the job, on the workers that you name, and what parameter servers do. The training's results stay the same; the recorded steps are slower.`}</Text>
      <Group align="end" gap="xs">
        <NumberInput size="xs" w={90} label={t`Steps`} min={1} max={MOST_STEPS} value={steps} onChange={(value) => setSteps(Number(value) || 1)} />
        <TextInput size="xs" w={140} label={t`Ranks of workers`} value={ranks} onChange={(event) => setRanks(event.currentTarget.value)} />
        {hasServers && <TextInput size="xs" w={160} label={t`Parameter servers`} placeholder="0" value={servers} onChange={(event) => setServers(event.currentTarget.value)} />}
        <Button type="submit" size="xs" loading={ask.isPending} disabled={isBusy}>
          {t`Record a profile`}
        </Button>
      </Group>
      <ProblemAlert error={ask.error} />
    </form>
  );
}

interface ListProps {
  job: JobDetail;
  recordings: Profile[];
  mayDelete: boolean;
  onShow: (id: string) => void;
}

function Recordings({ job, recordings, mayDelete, onShow }: ListProps) {
  const queries = useQueryClient();
  async function remove(profile: string) {
    await unwrap(api.DELETE("/api/v1/jobs/{id}/profiles/{profile}", { params: { path: { id: job.id, profile } } }));
    await queries.invalidateQueries({ queryKey: ["job", job.id, "profiles"] });
  }
  return (
    <ScrollTable label={t`Recorded profiles`} head={[t`Requested`, t`By`, t`Attempt`, t`Steps`, t`Pods`, t`State`, ""]}>
      {recordings.map((one) => (
        <Table.Tr key={one.id}>
          <Table.Td>
            <RelativeTime at={one.requested_at} />
          </Table.Td>
          <Table.Td>{one.requested_by ?? "–"}</Table.Td>
          <Table.Td>{one.attempt_number}</Table.Td>
          <Table.Td>{one.steps}</Table.Td>
          <Table.Td>{one.traces.map(podName).join(", ")}</Table.Td>
          <Table.Td>
            <StateBadge {...STATES[one.state]} label={STATES[one.state].label()} />
            {one.reason !== "" && <Text size="xs">{one.reason}</Text>}
          </Table.Td>
          <Table.Td>
            <Group gap={6} wrap="nowrap" justify="end">
              {one.state === "done" && (
                <Button size="xs" variant="default" onClick={() => onShow(one.id)}>
                  {t`Show`}
                </Button>
              )}
              {mayDelete && (
                <ConfirmButton
                  size="xs"
                  label={isOpen(one) ? t`Give up` : t`Delete`}
                  title={t`Delete this profile?`}
                  text={t`The profile of ${plural(one.steps, { one: "# step", other: "# steps" })} is deleted for good, with its traces.`}
                  action={() => remove(one.id)}
                />
              )}
            </Group>
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
