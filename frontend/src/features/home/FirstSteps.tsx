// SPDX-License-Identifier: Apache-2.0
// For people without a job: the way from nothing to a trained model, and a sample that goes it by one click.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, List, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { choicesQuery, organisationChoices, projectChoices } from "@/api/choices";
import { seenOrganisations, useMe, WRITING } from "@/api/session";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { RoleNeeded } from "@/components/feedback/RoleNeeded";
import { TextLink } from "@/components/display/TextLink";
import { NewProject } from "@/components/form/NewProject";
import { SectionCard } from "@/components/layout/Section";

import { anyDatasetQuery } from "./queries";
import { trainSample } from "./sample";

export function FirstSteps() {
  const projects = useQuery(choicesQuery(projectChoices("upload")));
  const project = projects.data?.results[0];
  const organisation = useQuery({ ...choicesQuery(organisationChoices(WRITING)), enabled: projects.data !== undefined && project === undefined }).data?.results[0];
  const hasData = useQuery(anyDatasetQuery).data === true;
  return (
    <SectionCard title={t`First steps`}>
      <Stack gap="sm">
        <List type="ordered" size="sm" spacing={4}>
          <List.Item>
            {project === undefined && organisation !== undefined ? (
              <>
                {t`Create a project in ${organisation.name}: it holds data, models and jobs`}
                <NewProject organisation={organisation} />
              </>
            ) : project === undefined ? (
              <GetProject />
            ) : (
              <>
                {t`A project: ${project.organisation.name} / ${project.name} ✓`}
              </>
            )}
          </List.Item>
          <List.Item>
            {hasData ? t`Data: there are datasets ✓` : <TextLink to="/datasets">{t`Upload a dataset: a CSV file is enough`}</TextLink>}
          </List.Item>
          <List.Item>
            <TextLink to="/jobs/new">{t`Start a job on it, with a built-in model or your own`}</TextLink>
          </List.Item>
        </List>
        {project !== undefined && <Sample project={project} />}
      </Stack>
    </SectionCard>
  );
}

/** For people who can make none themselves: whom to ask, or, for administrators of the platform, where an organisation is made. */
function GetProject() {
  const me = useMe();
  const [place] = seenOrganisations(me);
  if (me.is_staff) {
    return (
      <Trans>
        Get a project: <TextLink to="/members">make an organisation and a project</TextLink>
      </Trans>
    );
  }
  if (place !== undefined) return <RoleNeeded organisation={place} role="member" action={t`Making a project`} />;
  return (
    <Trans>
      Get a project: ask an admin of an organisation to invite you. <TextLink to="/members">Invitations are shown here</TextLink>
    </Trans>
  );
}

function Sample({ project }: { project: Parameters<typeof trainSample>[0] }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [step, setStep] = useState("");
  const train = useMutation({
    mutationFn: () => trainSample(project, setStep),
    onSuccess: (job) => {
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      return navigate(`/jobs/${job.id}`);
    },
  });
  return (
    <Stack gap="xs">
      <Text size="sm">
        {t`Or see it work first: the sample uploads a small table to ${project.name} and trains a built-in model on it, in about two minutes.`}
      </Text>
      <ProblemAlert error={train.error} />
      <Group gap="xs">
        <Button loading={train.isPending} onClick={() => train.mutate()}>
          {t`Train a sample`}
        </Button>
        <Button variant="default" component={Link} to="/datasets">
          {t`Use my own data`}
        </Button>
        {train.isPending && (
          <Text size="sm" role="status">
            {step}
          </Text>
        )}
      </Group>
    </Stack>
  );
}
