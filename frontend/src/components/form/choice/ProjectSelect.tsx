// SPDX-License-Identifier: Apache-2.0
// Chooses a project one may add to, or submit to, of any number; where there is none yet, makes one.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { choicesQuery, organisationChoices, projectChoices, type ProjectUse, useChosen, useChosenOrFirst } from "@/api/choices";
import { projectsKey, WRITING } from "@/api/session";
import type { Project } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props {
  /** For what: to add to it, or to submit to it. */
  may: ProjectUse;
  /** A project's id; "": none is there yet. */
  value: string;
  onChange: (id: string) => void;
  error?: string | undefined;
}

export function ProjectSelect({ may, value, onChange, error }: Props) {
  const source = projectChoices(may);
  const { isPending, data } = useQuery(choicesQuery(source));
  const [isMade, setMade] = useState(false);
  if (isPending) return <Loading label={t`Loading the projects`} />;
  if (data?.results.length === 0) {
    return (
      <FirstProject
        onMade={(id) => {
          setMade(true);
          onChange(id);
        }}
      />
    );
  }
  return (
    <SearchSelect
      label={t`Project`}
      allowDeselect={false}
      source={source}
      textOf={({ name, organisation }) => `${name} (${organisation.name})`}
      value={value}
      onChange={onChange}
      error={error}
      autoFocus={isMade} // it stands where the field was that the project was made in
      openOnFocus={!isMade}
    />
  );
}

/** The project of this id, where it may be used so; else the first that may. undefined: there is none, or none has come yet. */
export function useUsableProject(may: ProjectUse, chosen: string): Project | undefined {
  const source = projectChoices(may);
  const first = useQuery(choicesQuery(source)).data?.results[0];
  return useChosen(source, chosen) ?? first;
}

function FirstProject({ onMade }: { onMade: (id: string) => void }) {
  const [name, setName] = useState("");
  const queries = useQueryClient();
  const { chosen: organisation, items, list } = useChosenOrFirst(organisationChoices(WRITING), "");
  const make = useMutation({
    mutationFn: (organisationId: string) =>
      unwrap(api.POST("/api/v1/projects", { body: { name: name.trim(), organisation: organisationId, team: null } })),
    onSuccess: async ({ id }) => {
      onMade(id);
      await queries.invalidateQueries({ queryKey: projectsKey });
    },
  });

  if (items === undefined) {
    return (
      <QueryResult of={list} label={t`Loading the projects`}>
        {() => null}
      </QueryResult>
    );
  }
  if (!organisation) {
    return (
      <Text size="sm" c="dimmed">
        {t`You are not a member of an organisation that you may add to. Ask an administrator to make you one.`}
      </Text>
    );
  }
  function press(event: KeyboardEvent) {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the form around it is not sent
    if (name.trim() !== "" && !make.isPending) make.mutate(organisation?.id ?? "");
  }
  return (
    <Stack gap={4}>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t`New project`}
          description={t`${organisation.name} has no project yet.`}
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={press}
          error={make.error instanceof Problem ? make.error.detail : make.error?.message}
          flex={1}
        />
        <Button
          variant="default"
          disabled={name.trim() === ""}
          loading={make.isPending}
          onClick={() => make.mutate(organisation.id)}
        >
          {t`Create project`}
        </Button>
      </Group>
    </Stack>
  );
}
