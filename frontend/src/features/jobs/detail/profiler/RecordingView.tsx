// SPDX-License-Identifier: Apache-2.0
// One recording: what its steps consisted of, the dearest operators, and the trace of each worker.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";

import type { JobDetail, Profile, ProfileTraceDetail } from "@/api/types";
import { useSetting } from "@/components/chart/address/useSetting";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { DownloadButton } from "@/components/form/DownloadButton";
import { ScrollTable } from "@/components/table/ScrollTable";
import { profileQuery } from "@/features/jobs/queries";
import { lazyComponent } from "@/lib/chunk";
import { bytes, number, percent } from "@/lib/quantities";
import { shortDuration } from "@/lib/time";

import { podName, recordedParts, tracePath } from "./recording";

import classes from "./Profiler.module.css";

const TraceView = lazyComponent(async () => (await import("./TraceView")).TraceView);
const FEW = 12;

export function RecordingView({ job, recording }: { job: JobDetail; recording: Profile }) {
  const detail = useQuery(profileQuery(job.id, recording));
  const [chosen, setChosen] = useSetting("pod", "");
  return (
    <QueryResult of={detail} label={t`Loading the profile`}>
      {({ traces }) => {
        const trace = traces.find((one) => tracePath(one) === chosen) ?? traces.find(({ state }) => state === "done") ?? traces[0];
        if (trace === undefined) return null;
        return (
          <Stack gap="sm">
            {traces.length > 1 && (
              <NativeSelect
                size="xs"
                w={160}
                aria-label={t`Pod`}
                value={tracePath(trace)}
                onChange={(event) => setChosen(event.currentTarget.value)}
                data={traces.map((one) => ({ value: tracePath(one), label: podName(one) }))}
              />
            )}
            {trace.state === "done" ? (
              <RecordedTrace key={tracePath(trace)} trace={trace} address={`/api/v1/jobs/${job.id}/profiles/${recording.id}/${tracePath(trace)}`} />
            ) : (
              <Text size="sm" c="dimmed">
                {trace.reason === "" ? t`${podName(trace)} has not answered yet.` : t`${podName(trace)}: ${trace.reason}`}
              </Text>
            )}
          </Stack>
        );
      }}
    </QueryResult>
  );
}

function RecordedTrace({ trace, address }: { trace: ProfileTraceDetail; address: string }) {
  const [opened, setOpened] = useSetting("trace", "");
  const isOpen = opened === "open";
  const { first_step: first, n_steps: n } = trace;
  const pod = podName(trace);
  return (
    <Stack gap="sm">
      <Text size="sm">{first === null ? t`${pod}, ${n} steps` : t`${pod}, steps ${first + 1} to ${first + n}`}</Text>
      {trace.note !== "" && <Text size="xs" c="dimmed">{trace.note}</Text>}
      <Parts trace={trace} />
      <Operators trace={trace} />
      <Group gap="xs">
        {!isOpen && (
          <Button size="xs" onClick={() => setOpened("open")}>
            {t`Show the trace`}
          </Button>
        )}
        <DownloadButton href={address}>{t`Download the trace`}</DownloadButton>
        <Text size="xs" c="dimmed">
          {t`${bytes(trace.size_bytes)}, ${number(trace.n_events)} events; Perfetto (ui.perfetto.dev) opens the file.`}{" "}
          {trace.n_left_out > 0 && t`The ${number(trace.n_left_out)} shortest events are left out.`}
        </Text>
      </Group>
      {isOpen && (
        <Suspense fallback={<Loading label={t`Loading the trace`} />}>
          <TraceView address={address} label={t`Trace of ${pod}`} />
        </Suspense>
      )}
    </Stack>
  );
}

function Parts({ trace }: { trace: ProfileTraceDetail }) {
  const parts = recordedParts(trace);
  if (parts.length === 0) return null;
  return (
    <div>
      <div className={classes.parts} aria-hidden="true">
        {parts.map(({ name, share }) => (
          <span key={name} data-profile-part={name} style={{ flexGrow: share }} />
        ))}
      </div>
      <Group component="ul" gap="4px 16px" className={classes.list} mt={6} aria-label={t`What a recorded step consists of`}>
        {parts.map(({ name, label, seconds, share }) => (
          <Text key={name} component="li" size="xs" c="dimmed">
            <span className={classes.swatch} data-profile-part={name} />
            {label} {shortDuration(seconds)} · {percent(share)}
          </Text>
        ))}
      </Group>
    </div>
  );
}

function Operators({ trace }: { trace: ProfileTraceDetail }) {
  const [isAll, setAll] = useState(false);
  const operators = trace.operators ?? [];
  const hasDevice = operators.some(({ device_s: device }) => device > 0);
  const isServer = trace.role === "server"; // whose times are those that passed, on all its threads
  const head = [t`Operator`, t`Calls`, t`Own CPU time`, t`CPU time`, ...(hasDevice ? [t`GPU time`] : []), t`Memory`];
  return (
    <>
      <ScrollTable label={isServer ? t`Phases of the server` : t`Dearest operators`} head={isServer ? [t`Phase`, t`Times`, t`Time of all threads`] : head}>
        {(isAll ? operators : operators.slice(0, FEW)).map((one) => (
          <Table.Tr key={one.name}>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{one.name}</Table.Td>
            <Table.Td>{number(one.calls)}</Table.Td>
            <Table.Td>{shortDuration(one.self_cpu_s)}</Table.Td>
            {!isServer && <Table.Td>{shortDuration(one.cpu_s)}</Table.Td>}
            {hasDevice && <Table.Td>{shortDuration(one.device_s)}</Table.Td>}
            {!isServer && <Table.Td>{bytes(one.self_memory_bytes)}</Table.Td>}
          </Table.Tr>
        ))}
      </ScrollTable>
      <Group gap="xs">
        {!isAll && operators.length > FEW && (
          <Button size="compact-xs" variant="subtle" onClick={() => setAll(true)}>
            {t`Show ${operators.length} of ${number(trace.n_operators)} operators`}
          </Button>
        )}
      </Group>
    </>
  );
}
