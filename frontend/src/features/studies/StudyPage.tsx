// SPDX-License-Identifier: Apache-2.0
// One study: how far it is, its best trial, its rungs, what matters, and all trials.
import { t } from "@lingui/core/macro";
import { Alert, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useNavigate, useParams } from "react-router";

import { canChangeJob, canSubmit, useMe } from "@/api/session";
import type { Study, Trial } from "@/api/types";
import { FigureCard } from "@/components/chart/figure/FigureCard";
import { Facts } from "@/components/display/Facts";
import { StateBadge } from "@/components/display/StateBadge";
import { TextLink } from "@/components/display/TextLink";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";
import { STUDY_STATES } from "@/domain/states/studyState";
import { BestCurve } from "@/features/studies/BestCurve";
import { ExtendStudy } from "@/features/studies/ExtendStudy";
import { Importance } from "@/features/studies/Importance";
import { deleteStudy, studyQuery, trialsQuery, useStudyAction } from "@/features/studies/queries";
import { RungChart } from "@/features/studies/RungChart";
import { TrialCoordinates } from "@/features/studies/TrialCoordinates";
import { TrialsTable } from "@/features/studies/TrialsTable";
import { csvOfBest, csvOfRungs, csvOfTrials, hasResults } from "@/features/studies/trialsCsv";
import { lastValue, parametersText, shown } from "@/features/studies/values";

const BACK = <BackLink to="/studies">{t`Studies`}</BackLink>;

export function StudyPage() {
  const { id = "" } = useParams();
  const study = useQuery(studyQuery(id));
  if (study.data) return <Shown study={study.data} />;
  return (
    <Page title={t`Study`} back={BACK}>
      <QueryResult of={study}>{() => null}</QueryResult>
    </Page>
  );
}

function Shown({ study }: { study: Study }) {
  const { label } = STUDY_STATES[study.state];
  const trials = useQuery(trialsQuery(study));
  const action = useStudyAction(study.id);
  return (
    <Page
      title={study.name}
      back={BACK}
      subtitle={<StateBadge {...STUDY_STATES[study.state]} />}
      actions={<Actions study={study} action={action} />}
    >
      <ProblemAlert error={action.error} />
      {study.reason !== "" && (
        <Alert color={study.state === "failed" ? "red" : "gray"} title={label}>
          {study.reason}
        </Alert>
      )}
      {study.problem !== "" && (
        <Alert color="yellow" role="alert" title={t`The study waits`}>
          {study.problem}
        </Alert>
      )}
      <SectionCard title={t`Progress`}>
        <Facts facts={factsOf(study)} />
      </SectionCard>
      <QueryResult of={trials} label={t`Loading the trials`}>
        {(found) => (
          <>
            <FigureCard title={t`Best so far`} of={study.name} csv={() => csvOfBest(study, found)} isEmpty={!hasResults(found)}>
              <BestCurve study={study} trials={found} />
            </FigureCard>
            <FigureCard title={t`Rungs`} of={study.name} csv={() => csvOfRungs(found)} isEmpty={!hasResults(found)}>
              <RungChart study={study} trials={found} />
            </FigureCard>
            <FigureCard title={t`Hyperparameters and result`} of={study.name} csv={() => csvOfTrials(study, found)} isEmpty={!hasResults(found)}>
              <TrialCoordinates study={study} trials={found} />
            </FigureCard>
            <Importance study={study} />
            {found.length > 0 && <TrialsTable study={study} trials={found} />}
          </>
        )}
      </QueryResult>
    </Page>
  );
}

function bestText({ metric, unit }: Study, best: Trial): string {
  const length = best.results.at(-1)?.epochs;
  if (!length) return `${metric} ${shown(lastValue(best))}`; // of a script that reports neither epochs nor steps
  const reached = shown(length);
  return unit === "steps" ? t`${metric} ${shown(lastValue(best))}, after ${reached} steps` : t`${metric} ${shown(lastValue(best))}, after ${reached} epochs`;
}

function factsOf(study: Study): [string, ReactNode][] {
  const { best, trials } = study;
  const limit = (most: number | null) => (most === null ? "" : t` of ${shown(most)}`);
  return [
    [t`Best`, best === null ? "–" : bestText(study, best)],
    [t`Best hyperparameters`, best === null ? "–" : parametersText(best.parameters)],
    [t`Trials`, t`${study.n_trials} of ${study.most_trials}: ${trials.running} running, ${trials.failed} failed`],
    [t`Algorithm`, t`${study.algorithm}, ${study.max_parallel} at a time, seed ${study.seed}`],
    [study.unit === "steps" ? t`Steps` : t`Epochs`, `${shown(study.epochs)}${limit(study.max_epochs)}`],
    [t`GPU-hours`, `${shown(study.gpu_hours)}${limit(study.max_gpu_hours)}`],
    [t`Dataset`, !study.has_dataset ? t`none` : study.dataset_version === null ? t`deleted` : <TextLink to={`/datasets/${study.dataset_version.dataset.id}`}>{study.dataset_version.dataset.name}</TextLink>],
    [t`Model`, study.model_version === null ? t`deleted` : <TextLink to={`/models/${study.model_version.model.id}`}>{study.model_version.model.name}</TextLink>],
  ];
}

function Actions({ study, action }: { study: Study; action: ReturnType<typeof useStudyAction> }) {
  const me = useMe();
  const navigate = useNavigate();
  const clone = canSubmit(me, study.project) && (
    <Button variant="default" component={Link} to={`/studies/new?clone=${study.id}`}>
      {t`Clone with changes`}
    </Button>
  );
  if (!canChangeJob(me, study.project, study.created_by)) return clone;
  const { verbs, isOver, isExtensible } = STUDY_STATES[study.state];
  return (
    <>
      {isExtensible && <ExtendStudy study={study} />}
      {clone}
      {(["pause", "resume"] as const)
        .filter((verb) => verbs.includes(verb))
        .map((verb) => (
          <Button key={verb} variant="default" loading={action.isPending} onClick={() => action.mutate(verb)}>
            {verb === "pause" ? t`Pause` : t`Resume`}
          </Button>
        ))}
      {verbs.includes("stop") && (
        <ConfirmButton
          label={t`Stop study`}
          title={t`Stop ${study.name}?`}
          text={t`The jobs of its trials are cancelled. Results stay, but the study cannot go on.`}
          action={() => action.mutateAsync("stop")}
        />
      )}
      {isOver && (
        <ConfirmButton
          label={t`Delete study`}
          title={t`Delete ${study.name}?`}
          text={t`The study and its list of trials go. Jobs and trained models stay.`}
          action={async () => {
            await deleteStudy(study.id);
            void navigate("/studies");
          }}
        />
      )}
    </>
  );
}
