// SPDX-License-Identifier: Apache-2.0
// One dataset: its versions, and what inspection found in the one chosen.
import { plural, t } from "@lingui/core/macro";
import { Button, Collapse, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";

import { api, unwrap } from "@/api/client";
import { canDelete, canSubmit, canWrite, useMe } from "@/api/session";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { RoleNeeded } from "@/components/feedback/RoleNeeded";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { NewVersion } from "@/features/datasets/NewVersion";
import { Version } from "@/features/datasets/Version";
import { Versions } from "@/features/datasets/Versions";
import { allVersionsQuery, datasetQuery } from "@/features/datasets/queries";
import { lazyComponent } from "@/lib/chunk";
import { bytes } from "@/lib/quantities";

const BACK = <BackLink to="/datasets">{t`Datasets`}</BackLink>;

const DifferencesSection = lazyComponent(
  async () => (await import("./differences/DifferencesSection")).DifferencesSection,
);

const Caches = lazyComponent(async () => (await import("./caches/Caches")).Caches);

const UsedBy = lazyComponent(async () => (await import("./usedBy/UsedBy")).UsedBy);

export function DatasetPage() {
  const { id = "" } = useParams();
  const [parameters, setParameters] = useSearchParams();
  const me = useMe();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const dataset = useQuery(datasetQuery(id));

  if (!dataset.data) {
    return (
      <Page title={t`Dataset`} back={BACK}>
        {dataset.error ? <ProblemAlert error={dataset.error} onRetry={() => void dataset.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const { name, description, project, created_by: maker, latest_version: latest } = dataset.data;
  const shown = parameters.get("version") ?? latest?.id;

  async function remove() {
    await unwrap(api.DELETE("/api/v1/datasets/{id}", { params: { path: { id } } }));
    await navigate("/datasets");
    queries.removeQueries({ queryKey: ["dataset", id] });
    void queries.invalidateQueries({ queryKey: ["datasets"] });
  }

  async function removeVersion(version: string) {
    await unwrap(api.DELETE("/api/v1/dataset-versions/{id}", { params: { path: { id: version } } }));
    setParameters({});
    await queries.invalidateQueries({ queryKey: ["dataset"] });
  }

  return (
    <Page
      title={name}
      back={BACK}
      subtitle={[`${project.organisation.name} / ${project.name}`, description].filter(Boolean).join(" · ")}
      actions={
        canSubmit(me, project) && (
          <>
            {latest?.state === "ready" && (
              <Button component={Link} to={`/jobs/new?dataset=${id}`}>
                {t`Train on it`}
              </Button>
            )}
            {canWrite(me, project) && (
              <NewVersion
                datasetId={id}
                projectId={project.id}
                options={latest?.options}
                onUploaded={(version) => setParameters({ version: version.id })}
              />
            )}
            {canDelete(me, project, maker) && (
              <ConfirmButton
                label={t`Delete`}
                title={t`Delete ${name}?`}
                text={<Consequences id={id} />}
                action={remove}
              />
            )}
          </>
        )
      }
    >
      <RoleNeeded organisation={project.organisation} project={project} role="submitter" action={t`Training`} />
      <RoleNeeded organisation={project.organisation} project={project} role="member" action={t`Uploading versions`} />
      {shown && (
        <Version
          id={shown}
          mayChoose={canWrite(me, project)}
          onChosen={(version) => setParameters({ version: version.id })}
        />
      )}
      {shown && canDelete(me, project, maker) && (
        <Group>
          <ConfirmButton
            label={t`Delete this version`}
            size="xs"
            title={t`Delete this version?`}
            text={t`Its files are deleted for good. A version that jobs use cannot be, nor the only one of a dataset.`}
            action={() => removeVersion(shown)}
          />
        </Group>
      )}
      {shown && (
        <Suspense fallback={null}>
          <DifferencesSection datasetId={id} shownId={shown} />
        </Suspense>
      )}
      {shown && <Uses key={shown} version={shown} />}
      {shown && (
        <Suspense fallback={null}>
          <Caches version={shown} />
        </Suspense>
      )}
      <Section title={t`Versions`}>
        <Versions datasetId={id} shownId={shown} />
      </Section>
    </Page>
  );
}

/** Of a deletion; read when the dialogue opens. */
function Consequences({ id }: { id: string }) {
  const { data } = useQuery(allVersionsQuery(id));
  const refusal = t`A dataset that jobs use cannot be deleted.`;
  if (data === undefined || data.next !== null) return `${t`All its versions and their files are deleted for good.`} ${refusal}`;
  const size = bytes(data.results.reduce((sum, version) => sum + version.size_bytes, 0));
  return `${plural(data.results.length, { one: `# version with ${size} is deleted for good.`, other: `# versions with ${size} in all are deleted for good.` })} ${refusal}`;
}

/** Read when it is opened. */
function Uses({ version }: { version: string }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  return (
    <Section title={t`Used by`}>
      <div>
        <Button variant="default" size="xs" onClick={toggle} aria-expanded={isOpen}>
          {isOpen ? t`Hide what used this version` : t`Show what used this version`}
        </Button>
      </div>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Suspense fallback={<Loading />}>
          <UsedBy version={version} />
        </Suspense>
      </Collapse>
    </Section>
  );
}
