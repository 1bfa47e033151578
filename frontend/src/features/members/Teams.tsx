// SPDX-License-Identifier: Apache-2.0
// An organisation's teams, which may have teams below them, of any number; admins make, rename, move and delete them.
import { t } from "@lingui/core/macro";
import { Button, Group, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { readTeams, teamsOfKey } from "@/api/tenants/teams";
import type { Organisation, Page } from "@/api/types";
import { BothVersions, changedMeanwhile } from "@/components/feedback/BothVersions";
import { TeamSelect } from "@/components/form/choice/TeamSelect";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Section } from "@/components/layout/Section";
import { RenameCells } from "@/components/table/RenameCells";
import type { ListQuery } from "@/components/table/SearchedList";
import { SearchedTable } from "@/components/table/SearchedTable";
import { inTreeOrder, type TeamPlace } from "@/domain/teamTree";
import classes from "@/features/members/teams.module.css";

interface Change {
  name?: string;
  parent?: string | null;
  /** What was on screen of what is changed. */
  seen?: Omit<Change, "seen">;
}

export function Teams({ organisation, isAdmin }: { organisation: Organisation; isAdmin: boolean }) {
  return (
    <Section title={t`Teams`} order={3}>
      <SearchedTable
        name="team"
        searchedBy={t`Name of a team, or of one above it`}
        label={t`Teams`}
        head={[t`Team`, t`Below`, ""]}
        minWidth={isAdmin ? 560 : 320}
        queryKey={teamsOfKey(organisation.id)}
        read={(query) => readPlaces(organisation.id, query)}
        empty={<Text size="sm" c="dimmed">{t`No teams yet.`}</Text>}
        row={(place) => <TeamRow key={place.team.id} place={place} organisation={organisation} isAdmin={isAdmin} />}
      />
      {isAdmin && <NewTeam organisation={organisation} />}
    </Section>
  );
}

/** A page of teams, each below those above it that are on the page. */
async function readPlaces(organisationId: string, query: ListQuery): Promise<Page<TeamPlace>> {
  const page = await readTeams(organisationId, query);
  return { ...page, results: inTreeOrder(page.results) };
}

interface RowProps {
  place: TeamPlace;
  organisation: Organisation;
  isAdmin: boolean;
}

function TeamRow({ place, organisation, isAdmin }: RowProps) {
  const { team, level } = place;
  const queries = useQueryClient();
  const [name, setName] = useState<string | null>(null);
  const [began, setBegan] = useState(team.name);
  const params = { params: { path: { id: team.id } } };
  const above = team.parent?.id ?? null;
  const change = useMutation({
    mutationFn: (body: Change) => unwrap(api.PATCH("/api/v1/teams/{id}", { ...params, body })),
    onSuccess: () => reload(),
  });
  const conflict = changedMeanwhile(change.error);
  const refusal = !conflict && change.error instanceof Problem ? change.error.detail : undefined;

  async function reload() {
    await queries.invalidateQueries();
    change.reset();
    setName(null);
  }

  async function remove() {
    await unwrap(api.DELETE("/api/v1/teams/{id}", params));
    await queries.invalidateQueries();
  }

  function edit() {
    setBegan(team.name);
    setName(team.name);
  }

  const parentName = (value: unknown) =>
    typeof value !== "string" ? organisation.name : value === above && team.parent ? team.parent.name : t`Another team`;
  const bothVersions = conflict && change.variables && (
    <Table.Tr>
      <Table.Td colSpan={3}>
        <BothVersions
          problem={conflict}
          labels={{ name: t`Name`, parent: t`Below` }}
          textOf={(field, value) => (field === "parent" ? parentName(value) : String(value))}
          onTheirs={() => void reload()}
          onMine={(seen) => change.mutate({ ...change.variables, seen })}
        />
      </Table.Td>
    </Table.Tr>
  );

  if (name !== null) {
    return (
      <>
        <Table.Tr>
          <RenameCells
            label={t`New name of ${team.name}`}
            value={name}
            onChange={setName}
            error={refusal}
            isSaving={change.isPending}
            onKeep={() => setName(null)}
            onSave={(name) => change.mutate({ name, seen: { name: began } })}
          />
        </Table.Tr>
        {bothVersions}
      </>
    );
  }
  return (
    <>
      <Table.Tr>
        <Table.Td className={classes.name} style={{ "--level": level }}>
          {team.name}
        </Table.Td>
        <Table.Td>
          {isAdmin ? (
            <TeamSelect
              size="xs"
              aria-label={t`What ${team.name} is below`}
              organisationId={organisation.id}
              none={organisation.name}
              isOffered={({ id }) => id !== team.id}
              value={above ?? ""}
              current={team.parent}
              error={refusal}
              onChange={(parent) => change.mutate({ parent: parent || null, seen: { parent: above } })}
            />
          ) : (
            (team.parent?.name ?? organisation.name)
          )}
        </Table.Td>
        <Table.Td>
          {isAdmin && (
            <Group gap="xs" justify="flex-end" wrap="nowrap">
              <Button size="xs" variant="default" aria-label={t`Rename ${team.name}`} onClick={edit}>
                {t`Rename`}
              </Button>
              <ConfirmButton
                label={t`Delete`}
                ariaLabel={t`Delete ${team.name}`}
                size="xs"
                title={t`Delete ${team.name}?`}
                text={t`For good, with its quota, and only when it has no projects and no teams below it: these are moved or deleted first.`}
                action={remove}
              />
            </Group>
          )}
        </Table.Td>
      </Table.Tr>
      {bothVersions}
    </>
  );
}

function NewTeam({ organisation }: { organisation: Organisation }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [parent, setParent] = useState("");
  const create = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/teams", { body: { name: name.trim(), organisation: organisation.id, parent: parent || null } })),
    onSuccess: () => {
      setName("");
      return queries.invalidateQueries();
    },
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`New team`}>
      <Group align="flex-start" gap="xs">
        <TextInput
          label={t`New team`}
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.currentTarget.value)}
          error={create.error instanceof Problem ? create.error.detail : undefined}
        />
        <TeamSelect label={t`Below`} organisationId={organisation.id} none={organisation.name} value={parent} onChange={setParent} />
        <Button type="submit" variant="default" className={classes.create} loading={create.isPending} disabled={name.trim() === ""}>
          {t`Create team`}
        </Button>
      </Group>
    </form>
  );
}
