// SPDX-License-Identifier: Apache-2.0
// One model: the versions of its code, the versions that training made, and the one chosen in detail.
import { plural, t } from "@lingui/core/macro";
import { Badge, Button, Group } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
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
import { NewVersion } from "@/features/models/NewVersion";
import { Version } from "@/features/models/Version";
import { CodeVersions, TrainedVersions } from "@/features/models/Versions";
import { allVersionsQuery, modelQuery } from "@/features/models/queries";
import { bytes } from "@/lib/quantities";

const BACK = <BackLink to="/models">{t`Models`}</BackLink>;

export function ModelPage() {
  const { id = "" } = useParams();
  const [parameters, setParameters] = useSearchParams();
  const me = useMe();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const model = useQuery(modelQuery(id));

  if (!model.data) {
    return (
      <Page title={t`Model`} back={BACK}>
        {model.error ? <ProblemAlert error={model.error} onRetry={() => void model.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const { name, description, project, created_by: maker, latest_version: latest } = model.data;
  const shown = parameters.get("version") ?? latest?.id;
  const isMine = project !== null && canWrite(me, project);
  const home = project === null ? <Badge color="violet">{t`Built-in`}</Badge> : `${project.organisation.name} / ${project.name}`;

  async function remove() {
    await unwrap(api.DELETE("/api/v1/models/{id}", { params: { path: { id } } }));
    await navigate("/models");
    queries.removeQueries({ queryKey: ["model", id] });
    void queries.invalidateQueries({ queryKey: ["models"] });
  }

  async function removeVersion(version: string) {
    await unwrap(api.DELETE("/api/v1/model-versions/{id}", { params: { path: { id: version } } }));
    setParameters({});
    await queries.invalidateQueries({ queryKey: ["model"] });
  }

  return (
    <Page
      title={name}
      back={BACK}
      subtitle={
        <>
          {home} {project !== null && description !== "" && "·"} {description}
        </>
      }
      actions={
        <>
          {latest?.state === "ready" && (
            <Button component={Link} to={`/jobs/new?model=${id}`}>
              {t`Train it`}
            </Button>
          )}
          {isMine && (
            <>
              <NewVersion
                modelId={id}
                projectId={project.id}
                latest={latest}
                onUploaded={(version) => setParameters({ version: version.id })}
              />
              {maker !== null && canDelete(me, project, maker) && (
                <ConfirmButton
                  label={t`Delete`}
                  title={t`Delete ${name}?`}
                  text={<Consequences id={id} />}
                  action={remove}
                />
              )}
            </>
          )}
        </>
      }
    >
      {project !== null && (
        <>
          <RoleNeeded organisation={project.organisation} project={project} role="submitter" action={t`Training`} />
          <RoleNeeded organisation={project.organisation} project={project} role="member" action={t`Uploading versions`} />
        </>
      )}
      {shown && <Version id={shown} isMine={isMine} mayTry={project !== null && canSubmit(me, project)} />}
      {shown && isMine && maker !== null && canDelete(me, project, maker) && (
        <Group>
          <ConfirmButton
            label={t`Delete this version`}
            size="xs"
            title={t`Delete this version?`}
            text={t`Its files are deleted for good. A version that jobs or trained models use cannot be, nor the only one.`}
            action={() => removeVersion(shown)}
          />
        </Group>
      )}
      <Section title={t`Trained versions`}>
        <TrainedVersions modelId={id} shownId={shown} />
      </Section>
      {project !== null && (
        <Section title={t`Versions of the code`}>
          <CodeVersions modelId={id} shownId={shown} />
        </Section>
      )}
    </Page>
  );
}

/** Of a deletion; read when the dialogue opens. */
function Consequences({ id }: { id: string }) {
  const { data } = useQuery(allVersionsQuery(id));
  const refusal = t`A model that jobs use cannot be deleted.`;
  if (data === undefined || data.next !== null) return `${t`All its versions are deleted for good, trained ones too.`} ${refusal}`;
  const size = bytes(data.results.reduce((sum, version) => sum + version.size_bytes, 0));
  const aliases = data.results.flatMap((version) => version.aliases).map((alias) => `@${alias}`);
  return [
    plural(data.results.length, { one: `# version with ${size} is deleted for good.`, other: `# versions with ${size} in all are deleted for good, trained ones too.` }),
    ...(aliases.length > 0 ? [t`What names one by ${aliases.join(", ")} finds nothing then.`] : []),
    refusal,
  ].join(" ");
}
