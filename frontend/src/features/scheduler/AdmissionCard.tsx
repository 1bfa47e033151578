// SPDX-License-Identifier: Apache-2.0
// Pausing admission, with a reason that everybody reads and perhaps an end, and resuming it.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Problem, api, unwrap } from "@/api/client";
import { schedulerStatusQuery } from "@/api/scheduler";
import type { AdmissionPause } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Dialog } from "@/components/form/Dialog";
import { SectionCard } from "@/components/layout/Section";

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
        {({ admission: { is_paused: isPaused, paused_by: by } }) => (
          <Group justify="space-between" gap="sm">
            <Text size="sm">
              {!isPaused ? t`Pending jobs are started as the policy decides.` : by === "" ? t`Admission is paused.` : t`Admission is paused by ${by}.`}
            </Text>
            {isPaused ? (
              <ConfirmButton
                label={t`Resume admission`}
                color="blue"
                title={t`Resume admission?`}
                text={t`Pending jobs are started again from the next scheduling round on.`}
                dismiss={t`Stay paused`}
                action={resume}
              />
            ) : (
              <PauseButton pause={pause} />
            )}
          </Group>
        )}
      </QueryResult>
    </SectionCard>
  );
}

function PauseButton({ pause }: { pause: (body: AdmissionPause) => Promise<void> }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="light" color="orange" size="xs" onClick={open}>
        {t`Pause admission`}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={t`Pause admission?`}>
        <PauseForm pause={pause} close={close} />
      </Dialog>
    </>
  );
}

function PauseForm({ pause, close }: { pause: (body: AdmissionPause) => Promise<void>; close: () => void }) {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const act = useMutation({
    mutationFn: () => pause({ reason, until: until === "" ? null : new Date(until).toISOString() }),
    onSuccess: close,
  });
  const problem = act.error instanceof Problem ? act.error : undefined;
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate();
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
        <ProblemAlert error={act.error} atFields={SHOWN_HERE} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            {t`Leave it as it is`}
          </Button>
          <Button type="submit" color="orange" loading={act.isPending}>
            {t`Pause admission`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
