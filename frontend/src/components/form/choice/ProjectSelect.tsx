// SPDX-License-Identifier: Apache-2.0
// Chooses a project one may add to, or submit to; where there is none yet, makes one.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { canSubmit, canWrite, canWriteIn, projectsQuery, useMe, useOrganisations, useProjects } from "@/api/session";
import type { Project } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";

interface Props {
  /** A project's id; "" stands for the first. */
  value: string;
  onChange: (id: string) => void;
  error?: string | undefined;
  /** What to choose from. */
  projects: Project[];
}

export function ProjectSelect({ value, onChange, error, projects }: Props) {
  const { isPending } = useQuery(projectsQuery);
  if (isPending) return <Loading label={t`Loading the projects`} />;
  if (projects.length === 0) return <FirstProject onMade={onChange} />;
  return (
    <NativeSelect
      label={t`Project`}
      value={value || projects[0]?.id}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={projects.map(({ id, name, organisation }) => ({ value: id, label: `${name} (${organisation.name})` }))}
      error={error}
    />
  );
}

/** The projects this person may add to; archived ones take nothing. */
export function useWritableProjects() {
  const me = useMe();
  return useProjects().filter((project) => project.archived_at === null && canWrite(me, project));
}

/** The projects this person may submit jobs to. */
export function useProjectsForJobs() {
  const me = useMe();
  return useProjects().filter((project) => project.archived_at === null && canSubmit(me, project));
}

function FirstProject({ onMade }: { onMade: (id: string) => void }) {
  const me = useMe();
  const [name, setName] = useState("");
  const queries = useQueryClient();
  const organisation = useOrganisations().find(({ id }) => canWriteIn(me, id));
  const make = useMutation({
    mutationFn: (organisationId: string) =>
      unwrap(api.POST("/api/v1/projects", { body: { name: name.trim(), organisation: organisationId, team: null } })),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
      onMade(id);
    },
  });

  if (!organisation) {
    return (
      <Text size="sm" c="dimmed">
        {t`You are not a member of an organisation that you may add to. Ask an administrator to make you one.`}
      </Text>
    );
  }
  return (
    <Stack gap={4}>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t`New project`}
          description={t`${organisation.name} has no project yet.`}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={make.error instanceof Problem ? make.error.detail : undefined}
          flex={1}
        />
        <Button
          variant="default"
          disabled={name.trim() === ""}
          loading={make.isPending}
          onClick={() => make.mutate(organisation.id)}
        >
          {t`Make it`}
        </Button>
      </Group>
    </Stack>
  );
}
