// SPDX-License-Identifier: Apache-2.0
// Creates a study, or another one like a study that there is. The form's code is loaded while what it offers is.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { Link, useSearchParams } from "react-router";

import { choicesQuery, datasetChoices, modelChoices } from "@/api/choices";
import type { Study } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { draftOf, EMPTY } from "@/features/studies/draft";
import { studyQuery } from "@/features/studies/queries";
import { lazyComponent } from "@/lib/chunk";

const NewStudyForm = lazyComponent(async () => (await import("./new/NewStudyForm")).NewStudyForm);

export function NewStudyPage() {
  const [search] = useSearchParams();
  const cloneId = search.get("clone");
  return (
    <Page title={t`New study`} back={<BackLink to="/studies">{t`Studies`}</BackLink>}>
      {cloneId === null ? <Choices /> : <CloneOf id={cloneId} />}
    </Page>
  );
}

/** Everything is filled in as in the study that is cloned. */
function CloneOf({ id }: { id: string }) {
  const study = useQuery(studyQuery(id));
  return <QueryResult of={study}>{(clone) => <Choices clone={clone} />}</QueryResult>;
}

function Choices({ clone }: { clone?: Study }) {
  const datasets = useQuery(choicesQuery(datasetChoices));
  const models = useQuery(choicesQuery(modelChoices));
  return (
    <QueryResult of={datasets}>
      {(listed) => (
        <QueryResult of={models}>
          {(known) =>
            clone === undefined && (listed.results.length === 0 || known.results.length === 0) ? (
              <EmptyState
                title={t`Nothing to train on yet`}
                text={t`A study needs a dataset and a model; built-in models are there from the start.`}
                action={
                  <Button component={Link} to="/datasets">
                    {t`Upload a dataset`}
                  </Button>
                }
              />
            ) : (
              <Suspense fallback={<Loading />}>
                <NewStudyForm
                  clone={clone}
                  begun={clone === undefined ? { ...EMPTY, dataset: listed.results[0]?.id ?? "", model: known.results[0]?.id ?? "" } : draftOf(clone)}
                />
              </Suspense>
            )
          }
        </QueryResult>
      )}
    </QueryResult>
  );
}
