// SPDX-License-Identifier: Apache-2.0
// Pausing admission, with a reason that everybody reads and perhaps an end, and resuming it.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Problem, api, unwrap } from "@/api/client";
import { schedulerStatusQuery } from "@/api/scheduler";
import type { Admission, AdmissionPause } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { StaleVersion } from "@/components/feedback/StaleVersion";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Dialog } from "@/components/form/Dialog";
import { SectionCard } from "@/components/layout/Section";
import { clock, localTime } from "@/lib/time";

const MOST_REASON = 200;
const SHOWN_HERE = ["reason", "until"];

export function AdmissionCard() {
  const status = useQuery(schedulerStatusQuery);
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ["scheduler", "status"] });
  const pause = async (body: AdmissionPause) => {
    await unwrap(api.PUT("/api/v1/scheduler/admission-pause", { body }));
    await refresh();
  };
  const resume = async () => {
    await unwrap(api.DELETE("/api/v1/scheduler/admission-pause"));
    await refresh();
  };
  return (
    <SectionCard title={t`Admission`}>
      <QueryResult of={status}>
        {({ admission: { is_paused: isPaused, paused_by: by, ...present } }) => (
          <Group justify="space-between" gap="sm">
            <Text size="sm">
              {!isPaused ? t`Pending jobs are started as the policy decides.` : by === "" ? t`Admission is paused.` : t`Admission is paused by ${by}.`}
            </Text>
            <Group gap="xs">
              <PauseButton present={present} isChange={isPaused} pause={pause} />
              {isPaused && <ConfirmButton
                label={t`Resume admission`}
                color="blue"
                title={t`Resume admission?`}
                text={t`Pending jobs are started again from the next scheduling round on.`}
                dismiss={t`Stay paused`}
                action={resume}
              />}
            </Group>
          </Group>
        )}
      </QueryResult>
    </SectionCard>
  );
}

interface PauseProps {
  /** What was seen when the dialogue was opened. */
  present: Pick<Admission, "reason" | "until" | "version">;
  isChange: boolean;
  pause: (body: AdmissionPause) => Promise<void>;
}

function PauseButton(props: PauseProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { isChange } = props;
  return (
    <>
      <Button variant={isChange ? "default" : "light"} {...(!isChange && { color: "orange" })} size="xs" onClick={open}>
        {isChange ? t`Change` : t`Pause admission`}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={isChange ? t`Change the pause of admission` : t`Pause admission?`}>
        <PauseForm {...props} close={close} />
      </Dialog>
    </>
  );
}

function PauseForm({ present, pause, close, isChange }: PauseProps & { close: () => void }) {
  const [seen] = useState(present); // a form that is open keeps what it was opened with
  const [reason, setReason] = useState(seen.reason);
  const [until, setUntil] = useState(seen.until === null ? "" : localTime(new Date(seen.until)));
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: (version: number) => pause({ reason, until: until === "" ? null : new Date(until).toISOString(), version }),
    onSuccess: close,
  });
  const reload = async () => {
    await queries.invalidateQueries({ queryKey: ["scheduler", "status"] });
    close();
  };
  const problem = act.error instanceof Problem ? act.error : undefined;
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate(seen.version);
      }}
    >
      <Stack>
        <Text size="sm">
          {t`From the next scheduling round on no pending job of any organisation is started. Running jobs continue, and jobs that are being resized resume.`}
        </Text>
        <TextInput
          label={t`Reason`}
          description={t`Everybody reads it.`}
          required
          maxLength={MOST_REASON}
          value={reason}
          error={problem?.of("reason")}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label={t`Resume by itself at`}
          description={t`Empty: when an administrator resumes it.`}
          value={until}
          error={problem?.of("until")}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        {problem?.status === 409 ? (
          <StaleVersion
            error={problem}
            labels={{ reason: t`Reason`, until: t`Resume by itself at` }}
            textOf={(value) => (typeof value === "string" && value !== "" ? (isTime(value) ? clock(value) : value) : "–")}
            onTheirs={() => void reload()}
            onMine={(version) => act.mutate(version)}
          />
        ) : (
          <ProblemAlert error={act.error} atFields={SHOWN_HERE} />
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            {t`Leave it as it is`}
          </Button>
          <Button type="submit" color="orange" loading={act.isPending}>
            {isChange ? t`Save` : t`Pause admission`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** As the API writes times, and no reason that somebody typed. */
function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text);
}
