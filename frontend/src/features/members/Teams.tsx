// SPDX-License-Identifier: Apache-2.0
// An organisation's teams, which may have teams below them; admins make, rename, move and delete them.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Stack, Table, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { teamsQuery } from "@/api/tenants/teams";
import type { Organisation } from "@/api/types";
import { BothVersions, changedMeanwhile } from "@/components/feedback/BothVersions";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { RenameCells } from "@/components/table/RenameCells";
import { ScrollTable } from "@/components/table/ScrollTable";
import { inTreeOrder, possibleParents, teamOptions, type TeamPlace } from "@/domain/teamTree";
import classes from "@/features/members/teams.module.css";

interface Change {
  name?: string;
  parent?: string | null;
  /** What was on screen of what is changed. */
  seen?: Omit<Change, "seen">;
}

export function Teams({ organisation, isAdmin }: { organisation: Organisation; isAdmin: boolean }) {
  const places = inTreeOrder(useQuery(teamsQuery(organisation.id)).data ?? []);
  if (places.length === 0 && !isAdmin) return null;
  return (
    <Stack gap="xs">
      {places.length > 0 && (
        <ScrollTable label={t`Teams`} head={[t`Team`, t`Below`, ""]} minWidth={isAdmin ? 560 : 320}>
          {places.map((place) => (
            <TeamRow key={place.team.id} place={place} places={places} organisation={organisation} isAdmin={isAdmin} />
          ))}
        </ScrollTable>
      )}
      {isAdmin && <NewTeam organisation={organisation} places={places} />}
    </Stack>
  );
}

interface RowProps {
  place: TeamPlace;
  places: TeamPlace[];
  organisation: Organisation;
  isAdmin: boolean;
}

function TeamRow({ place: { team, level }, places, organisation, isAdmin }: RowProps) {
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

  const called = (value: unknown) => (typeof value === "string" ? value : organisation.name);
  const bothVersions = conflict && change.variables && (
    <Table.Tr>
      <Table.Td colSpan={3}>
        <BothVersions
          problem={conflict}
          labels={{ name: t`Name`, parent: t`Below` }}
          textOf={(field, value) =>
            field === "parent" ? (places.find((one) => one.team.id === value)?.path ?? called(null)) : called(value)
          }
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
          {isAdmin && places.length > 1 ? (
            <NativeSelect
              size="xs"
              aria-label={t`What ${team.name} is below`}
              value={above ?? ""}
              onChange={(event) => change.mutate({ parent: event.currentTarget.value || null, seen: { parent: above } })}
              data={[{ value: "", label: organisation.name }, ...teamOptions(possibleParents(team, places))]}
              error={refusal}
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

function NewTeam({ organisation, places }: { organisation: Organisation; places: TeamPlace[] }) {
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
        {places.length > 0 && (
          <NativeSelect
            label={t`Below`}
            value={parent}
            onChange={(event) => setParent(event.currentTarget.value)}
            data={[{ value: "", label: organisation.name }, ...teamOptions(places)]}
          />
        )}
        <Button type="submit" variant="default" className={classes.create} loading={create.isPending} disabled={name.trim() === ""}>
          {t`Create team`}
        </Button>
      </Group>
    </form>
  );
}
