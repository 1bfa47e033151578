// SPDX-License-Identifier: Apache-2.0
// What can be done to a job in its state: pause, resume, cancel and delete (both ask first), clone.
import { Button, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useNavigate } from "react-router";

import { Problem } from "@/api/client";
import { canDelete, canWrite, useMe } from "@/api/session";
import type { Job } from "@/api/types";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { isOver, JOB_STATES, type JobVerb } from "@/domain/jobState";
import { useJobAction } from "@/features/jobs/queries";

import { DeleteJob } from "./DeleteJob";
import { PredictButton } from "./PredictButton";

/** What makes sense now: what is asked for already is not asked again, and a pause can be taken back. */
function verbsOf(job: Job): readonly JobVerb[] {
  if (job.intent === "cancel") return [];
  const { verbs } = JOB_STATES[job.state];
  return job.intent === "pause" ? verbs.map((verb) => (verb === "pause" ? "resume" : verb)) : verbs;
}

export function JobActions({ job }: { job: Job }) {
  const me = useMe();
  const navigate = useNavigate();
  const action = useJobAction(job.id);
  if (!canWrite(me, job.project.organisation.id)) return null;

  const verbs = verbsOf(job);
  const act = (verb: JobVerb) =>
    action.mutate(verb, {
      onSuccess: (answer) => {
        if (verb === "clone") void navigate(`/jobs/${answer.id}`);
      },
      onError: (error) =>
        notifications.show({
          color: "red",
          title: error instanceof Problem ? error.title : "It did not work",
          message: error instanceof Problem ? [error.detail, error.remedy].filter(Boolean).join(" ") : error.message,
        }),
    });
  const simple = (verb: JobVerb, label: string, tip: string) => (
    <Tooltip label={tip}>
      <Button
        variant="default"
        loading={action.isPending && action.variables === verb}
        disabled={action.isPending}
        onClick={() => act(verb)}
      >
        {label}
      </Button>
    </Tooltip>
  );

  return (
    <>
      {verbs.includes("resume") && simple("resume", "Resume", "Continue from the newest checkpoint")}
      {verbs.includes("pause") && simple("pause", "Pause", "Save a checkpoint and give the GPUs back")}
      {job.kind === "train" && job.state === "succeeded" && job.result_version !== null && <PredictButton job={job} />}
      {simple("clone", "Clone", "Start another job with the same settings")}
      {verbs.includes("cancel") && (
        <ConfirmButton
          label="Cancel job"
          title={`Cancel ${job.name}?`}
          text="Training stops and its GPUs are given back. Curves and log stay, but the job cannot be resumed."
          action={() => action.mutateAsync("cancel")}
        />
      )}
      {isOver(job) && canDelete(me, job.project.organisation.id, job.created_by) && <DeleteJob job={job} />}
    </>
  );
}
