// SPDX-License-Identifier: Apache-2.0
// What can be done to a job in its state: pause, resume, cancel and delete (both ask first), clone with changes.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Suspense } from "react";
import { Link, useNavigate } from "react-router";

import { Problem } from "@/api/client";
import { canChangeJob, canSubmit, useMe } from "@/api/session";
import type { Job } from "@/api/types";
import { Tip } from "@/components/display/Tip";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { isOver, JOB_STATES, type JobVerb } from "@/domain/states/jobState";
import { useJobAction } from "@/features/jobs/queries";
import { lazyComponent } from "@/lib/chunk";

import { DeleteJob } from "./DeleteJob";

/** Only of trained jobs; its form needs what no other part of the page does. */
const PredictButton = lazyComponent(async () => (await import("./PredictButton")).PredictButton);

/** What makes sense now: what is asked for already is not asked again, and a pause can be taken back. */
function verbsOf(job: Job): readonly JobVerb[] {
  if (job.intent === "cancel") return [];
  if (job.state === "failed" && job.preflight !== "passed") return []; // it would fail again, and is refused
  const { verbs } = JOB_STATES[job.state];
  return job.intent === "pause" ? verbs.map((verb) => (verb === "pause" ? "resume" : verb)) : verbs;
}

/** onDeleted: as DeleteJob has it. */
export function JobActions({ job, onDeleted }: { job: Job; onDeleted?: () => void }) {
  const me = useMe();
  const navigate = useNavigate();
  const action = useJobAction(job.id);
  if (!canSubmit(me, job.project)) return null;

  const verbs = verbsOf(job);
  const act = (verb: JobVerb) =>
    action.mutate(verb, {
      onError: (error) =>
        notifications.show({
          color: "red",
          title: error instanceof Problem ? error.title : t`It did not work`,
          message: error instanceof Problem ? [error.detail, error.remedy].filter(Boolean).join(" ") : error.message,
        }),
    });
  const simple = (verb: JobVerb, label: string, tip: string) => (
    <Tip label={tip}>
      <Button
        variant="default"
        loading={action.isPending && action.variables === verb}
        disabled={action.isPending}
        onClick={() => act(verb)}
      >
        {label}
      </Button>
    </Tip>
  );

  return (
    <>
      {verbs.includes("resume") && simple("resume", t`Resume`, job.kind === "notebook" ? t`Start it again with its folder` : t`Continue from the newest checkpoint`)}
      {verbs.includes("pause") && simple("pause", t`Pause`, job.kind === "notebook" ? t`Keep its folder and give the GPU back` : t`Save a checkpoint and give the GPUs back`)}
      {job.kind === "train" && job.state === "succeeded" && job.result_version !== null && (
        <Suspense fallback={null}>
          <PredictButton job={job} />
        </Suspense>
      )}
      {job.kind === "train" ? (
        <Button variant="default" component={Link} to={`/jobs/new?clone=${job.id}`}>
          {t`Clone`}
        </Button>
      ) : (
        <ConfirmButton
          label={t`Clone`}
          color="blue"
          title={t`Clone ${job.name}?`}
          text={job.kind === "notebook" ? t`It has the same settings and data, and an empty folder.` : t`It starts at once, with the same settings, data and model.`}
          dismiss={t`Do not start it`}
          action={async () => {
            const made = await action.mutateAsync("clone");
            await navigate(`/jobs/${made.id}`);
          }}
        />
      )}
      {verbs.includes("cancel") && (
        <ConfirmButton
          label={t`Cancel job`}
          title={t`Cancel ${job.name}?`}
          text={t`Training stops and its GPUs are given back. Curves and log stay, but the job cannot be resumed.`}
          action={() => action.mutateAsync("cancel")}
        />
      )}
      {isOver(job) && canChangeJob(me, job.project, job.created_by) && <DeleteJob job={job} onDeleted={onDeleted} />}
    </>
  );
}
