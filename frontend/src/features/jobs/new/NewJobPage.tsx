// SPDX-License-Identifier: Apache-2.0
// Starts a job. The form's code is loaded while the datasets and models that it offers are.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { useSearchParams } from "react-router";

import { choicesQuery, datasetChoices, modelChoices } from "@/api/choices";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { lazyComponent } from "@/lib/chunk";

const NewJobForm = lazyComponent(async () => (await import("./NewJobForm")).NewJobForm);
const CloneOf = lazyComponent(async () => (await import("./CloneOf")).CloneOf);

export function NewJobPage() {
  const datasets = useQuery(choicesQuery(datasetChoices));
  const models = useQuery(choicesQuery(modelChoices));
  const [search] = useSearchParams();
  const cloneId = search.get("clone");
  return (
    <Page title={t`New job`} back={<BackLink to="/jobs">{t`Jobs`}</BackLink>}>
      <ProblemAlert error={datasets.error} onRetry={() => void datasets.refetch()} />
      <ProblemAlert error={models.error} onRetry={() => void models.refetch()} />
      <Suspense fallback={<Loading />}>
        {cloneId === null ? <NewJobForm /> : <CloneOf id={cloneId}>{(clone) => <NewJobForm clone={clone} />}</CloneOf>}
      </Suspense>
    </Page>
  );
}
