// SPDX-License-Identifier: Apache-2.0
// An organisation's projects; their admins rename, move, archive, open and delete them with all that they hold; who made one renames and deletes it.
import { t } from "@lingui/core/macro";
import { Badge, Button, Group, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { choicesQuery } from "@/api/choices";
import { api, Problem, unwrap } from "@/api/client";
import { isAdminOf, useMe } from "@/api/session";
import { projectsOfKey, readProjects } from "@/api/tenants/projects";
import { type NamedTeam, teamChoices } from "@/api/tenants/teams";
import type { OrganisationBrief, Project } from "@/api/types";
import { BothVersions, changedMeanwhile } from "@/components/feedback/BothVersions";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { NewProject } from "@/components/form/NewProject";
import { TeamSelect } from "@/components/form/choice/TeamSelect";
import { Section } from "@/components/layout/Section";
import { RenameCells } from "@/components/table/RenameCells";
import { SearchedTable } from "@/components/table/SearchedTable";
import { DeleteProject } from "@/features/members/deletion/DeleteProject";

interface Change {
  name?: string;
  is_archived?: boolean;
  team?: string | null;
  /** What was on screen of what is changed; left out: what there is in the list. */
  seen?: Omit<Change, "seen">;
}

/** isAdmin: of the whole organisation; others may be admins of some of its projects. mayAdd: whether one may create projects. */
export function Projects({ organisation, isAdmin = false, mayAdd = false }: { organisation: OrganisationBrief; isAdmin?: boolean; mayAdd?: boolean }) {
  const me = useMe();
  const teams = useQuery(choicesQuery(teamChoices(organisation.id))).data?.results ?? [];
  const [deleted, setDeleted] = useState<Project | null>(null);
  return (
    <Section title={t`Projects`} order={3}>
      <DeleteProject project={deleted} onClose={() => setDeleted(null)} />
      <SearchedTable
        name="project"
        searchedBy={t`Name of a project or team`}
        label={t`Projects`}
        head={[t`Project`, t`Team`, ""]}
        minWidth={680}
        queryKey={projectsOfKey(organisation.id)}
        read={(query) => readProjects(organisation.id, query)}
        empty={<Text size="sm" c="dimmed">{t`No projects yet.`}</Text>}
        row={(project) => <ProjectRow key={project.id} project={project} teams={teams} isAdmin={isAdmin || isAdminOf(me, project)} onDelete={setDeleted} />}
      />
      {mayAdd && <NewProject organisation={organisation} />}
    </Section>
  );
}

interface RowProps {
  project: Project;
  /** Those that the page knows: the first ones. */
  teams: readonly NamedTeam[];
  isAdmin: boolean;
  /** Asks for the deletion with all that it holds. */
  onDelete: (project: Project) => void;
}

function ProjectRow({ project, teams, isAdmin, onDelete }: RowProps) {
  const queries = useQueryClient();
  const [name, setName] = useState<string | null>(null);
  const [began, setBegan] = useState(project.name);
  const isArchived = project.archived_at !== null;
  const params = { params: { path: { id: project.id } } };
  const change = useMutation({
    mutationFn: (body: Change) =>
      unwrap(api.PATCH("/api/v1/projects/{id}", { ...params, body: { seen: seenOf(body, project, began), ...body } })),
    onSuccess: () => reload(),
  });
  const conflict = changedMeanwhile(change.error);

  async function reload() {
    await queries.invalidateQueries();
    change.reset();
    setName(null);
  }

  function edit() {
    setBegan(project.name);
    setName(project.name);
  }

  const bothVersions = conflict && change.variables && (
    <Table.Tr>
      <Table.Td colSpan={3}>
        <BothVersions
          problem={conflict}
          labels={{ name: t`Name`, team: t`Team`, is_archived: t`Archived` }}
          textOf={(field, value) => changeText(field, value, project.team ? [project.team, ...teams] : teams)}
          onTheirs={() => void reload()}
          onMine={(seen) => change.mutate({ ...change.variables, seen: seen })}
        />
      </Table.Td>
    </Table.Tr>
  );

  async function remove() {
    await unwrap(api.DELETE("/api/v1/projects/{id}", params));
    await queries.invalidateQueries();
  }

  if (name !== null) {
    return (
      <>
        <Table.Tr>
          <RenameCells
            label={t`New name of ${project.name}`}
            value={name}
            onChange={setName}
            error={!conflict && change.error instanceof Problem ? change.error.detail : undefined}
            isSaving={change.isPending}
            onKeep={() => setName(null)}
            onSave={(name) => change.mutate({ name })}
          />
        </Table.Tr>
        {bothVersions}
      </>
    );
  }
  return (
    <>
      <Table.Tr>
        <Table.Td style={{ overflowWrap: "anywhere", minWidth: "9rem" }}>
          {project.name} {isArchived && <Badge color="gray">{t`Archived`}</Badge>}
        </Table.Td>
        <Table.Td>
          {isAdmin && teams.length > 0 ? (
            <TeamSelect
              size="xs"
              miw={140}
              aria-label={t`Team of ${project.name}`}
              organisationId={project.organisation.id}
              none={t`None`}
              value={project.team?.id ?? ""}
              current={project.team}
              onChange={(team) => change.mutate({ team: team || null })}
              error={!conflict && change.error instanceof Problem ? change.error.detail : undefined}
            />
          ) : (
            (project.team?.name ?? "–")
          )}
          {teams.length > 0 && project.team && (
            <Button size="xs" variant="subtle" component={Link} to={`/teams/${project.team.id}/roles`} aria-label={t`Roles of the team ${project.team.name}`}>
              {t`Roles of the team`}
            </Button>
          )}
        </Table.Td>
        <Table.Td>
          <ProjectActions
            project={project}
            isAdmin={isAdmin}
            isSaving={change.isPending}
            onRename={edit}
            onArchive={() => change.mutateAsync({ is_archived: true })}
            onOpen={() => change.mutate({ is_archived: false })}
            onDelete={() => onDelete(project)}
            onDeleteEmpty={remove}
          />
        </Table.Td>
      </Table.Tr>
      {bothVersions}
    </>
  );
}

interface ActionsProps {
  project: Project;
  isAdmin: boolean;
  isSaving: boolean;
  onRename: () => void;
  onArchive: () => Promise<unknown>;
  onOpen: () => void;
  onDelete: () => void;
  onDeleteEmpty: () => Promise<void>;
}

/** Where its roles, secrets and retention are; and, for its admins and who made it, what can be done with it. */
function ProjectActions({ project, isAdmin, isSaving, onRename, onArchive, onOpen, onDelete, onDeleteEmpty }: ActionsProps) {
  return (
    <Group gap="xs" justify="flex-end">
      <Button size="xs" variant="default" component={Link} to={`/projects/${project.id}/roles`} aria-label={t`Roles in ${project.name}`}>
        {t`Roles`}
      </Button>
      <Button size="xs" variant="default" component={Link} to={`/projects/${project.id}/secrets`} aria-label={t`Secrets of ${project.name}`}>
        {t`Secrets`}
      </Button>
      <Button size="xs" variant="default" component={Link} to={`/projects/${project.id}/retention`} aria-label={t`Retention of ${project.name}`}>
        {t`Retention`}
      </Button>
      {(isAdmin || project.is_own) && (
        <Button size="xs" variant="default" aria-label={t`Rename ${project.name}`} onClick={onRename}>
          {t`Rename`}
        </Button>
      )}
      {isAdmin &&
        (project.archived_at !== null ? (
          <Button
            size="xs"
            variant="default"
            aria-label={t`Open ${project.name}`}
            loading={isSaving}
            onClick={onOpen}
          >
            {t`Open again`}
          </Button>
        ) : (
          <ConfirmButton
            label={t`Archive`}
            ariaLabel={t`Archive ${project.name}`}
            size="xs"
            title={t`Archive ${project.name}?`}
            text={t`It takes no uploads and no jobs until it is opened again. Jobs that wait or run go on; all that it holds stays readable.`}
            action={onArchive}
          />
        ))}
      {isAdmin && (
        <Button size="xs" variant="default" c="var(--mantine-color-error)" aria-label={t`Delete ${project.name}`} onClick={onDelete}>
          {t`Delete`}
        </Button>
      )}
      {!isAdmin && project.is_own && (
        <ConfirmButton
          label={t`Delete`}
          ariaLabel={t`Delete ${project.name}`}
          size="xs"
          title={t`Delete ${project.name}?`}
          text={t`For good, and only an empty project: its jobs, datasets and models are deleted first.`}
          action={onDeleteEmpty}
        />
      )}
    </Group>
  );
}

/** began: the name on screen when the change of it began. */
function seenOf(body: Change, project: Project, began: string): Omit<Change, "seen"> {
  return {
    ...(body.name !== undefined && { name: began }),
    ...(body.team !== undefined && { team: project.team?.id ?? null }),
    ...(body.is_archived !== undefined && { is_archived: project.archived_at !== null }),
  };
}

function changeText(field: string, value: unknown, teams: readonly NamedTeam[]): string {
  const text = typeof value === "string" ? value : t`None`;
  if (field === "team" && typeof value === "string") return teams.find(({ id }) => id === value)?.name ?? t`Another team`;
  return typeof value === "boolean" ? (value ? t`yes` : t`no`) : text;
}
