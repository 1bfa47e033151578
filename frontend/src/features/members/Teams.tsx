// SPDX-License-Identifier: Apache-2.0
// An organisation's teams, which may have teams below them, searched where there are many; admins make, rename, move and delete
// them.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useMemo, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { teamsQuery } from "@/api/tenants/teams";
import type { Organisation } from "@/api/types";
import { BothVersions, changedMeanwhile } from "@/components/feedback/BothVersions";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { RenameCells } from "@/components/table/RenameCells";
import { ScrollTable } from "@/components/table/ScrollTable";
import { inTreeOrder, teamOptions, type TeamPlace } from "@/domain/teamTree";
import { ParentSelect } from "@/features/members/ParentSelect";
import classes from "@/features/members/teams.module.css";

interface Change {
  name?: string;
  parent?: string | null;
  /** What was on screen of what is changed. */
  seen?: Omit<Change, "seen">;
}

/** From here on a list is searched rather than read. */
const MANY = 20;
const ROWS = 50;

export function Teams({ organisation, isAdmin }: { organisation: Organisation; isAdmin: boolean }) {
  const { data, error, refetch } = useQuery(teamsQuery(organisation.id));
  const places = useMemo(() => inTreeOrder(data ?? []), [data]);
  const [search, setSearch] = useState("");
  const [nRows, setRows] = useState(ROWS);
  const wanted = search.trim().toLocaleLowerCase();
  const found = wanted === "" ? places : places.filter(({ path }) => path.toLocaleLowerCase().includes(wanted));
  if (error === null && places.length === 0 && !isAdmin) return null;
  return (
    <Stack gap="xs">
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {places.length > MANY && (
        <Group gap="xs" align="end">
          <TextInput type="search" label={t`Search teams`} value={search} onChange={(event) => setSearch(event.currentTarget.value)} />
          <Text size="xs" c="dimmed" role="status" pb={6}>
            {t`${found.length} of ${plural(places.length, { one: "# team", other: "# teams" })}`}
          </Text>
        </Group>
      )}
      {found.length > 0 && (
        <ScrollTable label={t`Teams`} head={[t`Team`, t`Below`, ""]} minWidth={isAdmin ? 560 : 320}>
          {found.slice(0, nRows).map((place) => (
            <TeamRow key={place.team.id} place={place} places={places} organisation={organisation} isAdmin={isAdmin} />
          ))}
        </ScrollTable>
      )}
      {found.length > nRows && (
        <Group>
          <Button variant="default" onClick={() => setRows(nRows + ROWS)}>
            {t`Show more teams`}
          </Button>
        </Group>
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

function TeamRow({ place, places, organisation, isAdmin }: RowProps) {
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
            <ParentSelect
              place={place}
              places={places}
              organisationName={organisation.name}
              error={refusal}
              onMove={(parent) => change.mutate({ parent, seen: { parent: above } })}
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
