// SPDX-License-Identifier: Apache-2.0
// The first tab of a job: its life so far as one bar, how far it is, its curve with the predicted finish, what it runs on.
import { t } from "@lingui/core/macro";
import { SimpleGrid, Skeleton, Stack } from "@mantine/core";
import { Suspense } from "react";

import type { JobDetail } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { TextLink } from "@/components/display/TextLink";
import { isMoving } from "@/domain/states/jobState";
import { lazyComponent } from "@/lib/chunk";

import { tabAddress } from "../tabs/tabs";
import { FailureCard } from "./FailureCard";
import { JobProgress } from "./JobProgress";
import { PredictionResultCard } from "./PredictionResultCard";
import { ResourcesCard } from "./ResourcesCard";
import { StateBar } from "./StateBar";
import { StatusCard } from "./StatusCard";
import { TrainedModelCard } from "./TrainedModelCard";

const FinishFan = lazyComponent(async () => (await import("../fan/FinishFan")).FinishFan);
const NotebookCard = lazyComponent(async () => (await import("../../notebook/NotebookCard")).NotebookCard);
const NotesCard = lazyComponent(async () => (await import("./NotesCard")).NotesCard);
const FAN_HEIGHT = 330;

export function Overview({ job }: { job: JobDetail }) {
  return (
    <Stack gap="md">
      {job.failure !== null && <FailureCard job={job} failure={job.failure} />}
      {job.result_version !== null && <TrainedModelCard job={job} version={job.result_version} />}
      {(job.kind === "predict" || job.kind === "evaluate") && job.state === "succeeded" && <PredictionResultCard job={job} />}
      <StatusCard job={job} />
      {(job.state === "queued" || (isMoving(job) && job.kind !== "notebook")) && (
        <TextLink to={tabAddress(job.id, "why")}>
          {job.state === "queued" ? t`What it waits for, who is ahead, and what would start it earlier` : t`What would end it earlier`}
        </TextLink>
      )}
      {job.kind === "notebook" && (
        <Suspense fallback={<Loading label={t`Loading the notebook`} />}>
          <NotebookCard job={job} />
        </Suspense>
      )}
      {job.kind !== "notebook" && <JobProgress job={job} stateBar={<StateBar job={job} />} />}
      {job.kind === "train" && (
        <Suspense fallback={<Skeleton h={FAN_HEIGHT} />}>
          <FinishFan job={job} />
        </Suspense>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <ResourcesCard job={job} />
        <Suspense fallback={<Skeleton h={180} />}>
          <NotesCard key={`${job.notes}\n${job.tags.join()}`} job={job} />
        </Suspense>
      </SimpleGrid>
    </Stack>
  );
}
