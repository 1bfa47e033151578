// SPDX-License-Identifier: Apache-2.0
// Who has which role in a project or a team and from where; its admins give, change and withdraw roles.
import { t } from "@lingui/core/macro";
import { Badge, Group, NativeSelect, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense } from "react";
import { useParams } from "react-router";

import { api, unwrap } from "@/api/client";
import { permissionsQuery, type PlaceKind, readRoles, rolesKey } from "@/api/tenants/roles";
import { projectQuery } from "@/api/tenants/projects";
import type { BoundRole, OrganisationBrief, PersonRoles, RoleAssignment } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { SearchedTable } from "@/components/table/SearchedTable";
import { PermissionsTable } from "@/features/roles/PermissionsTable";
import { teamQuery } from "@/features/roles/queries";
import { BOUND_ROLES } from "@/features/roles/texts";
import { lazyComponent } from "@/lib/chunk";

// few may give roles: its searched field is loaded for them
const GiveRole = lazyComponent(async () => (await import("@/features/roles/GiveRole")).GiveRole);

export function ProjectRolesPage() {
  const { id = "" } = useParams();
  return <Roles kind="projects" id={id} found={useQuery(projectQuery(id)).data} />;
}

export function TeamRolesPage() {
  const { id = "" } = useParams();
  return <Roles kind="teams" id={id} found={useQuery(teamQuery(id)).data} />;
}

interface Place {
  kind: PlaceKind;
  id: string;
}

function Roles({ kind, id, found }: Place & { found: { name: string; organisation: OrganisationBrief } | undefined }) {
  const name = found?.name;
  const permissions = useQuery(permissionsQuery(kind, id));
  const mayAssign = permissions.data?.permissions.some(({ action, is_allowed }) => action === "assign_roles" && is_allowed) ?? false;
  return (
    <Page
      title={name === undefined ? t`Roles` : t`Roles in ${name}`}
      subtitle={
        kind === "teams"
          ? t`A role in the team counts in all its projects, besides the one in the organisation. The greatest one holds.`
          : t`A role in the project counts besides those in its team and in the organisation. The greatest one holds.`
      }
      back={<BackLink to="/members">{t`Members`}</BackLink>}
    >
      <Stack maw={860} gap="xl">
        <SearchedTable
          name="person"
          searchedBy={t`Name or e-mail address`}
          label={t`Roles`}
          head={[t`Name`, t`Role`, t`Assigned in`]}
          minWidth={560}
          queryKey={rolesKey(kind, id)}
          read={(query) => readRoles(kind, id, query)}
          empty={null}
          row={(person) => <Row key={person.user.id} kind={kind} id={id} person={person} mayAssign={mayAssign} />}
        />
        {mayAssign && found && (
          <Suspense fallback={<Loading />}>
            <GiveRole kind={kind} id={id} organisationId={found.organisation.id} />
          </Suspense>
        )}
        <QueryResult of={permissions}>
          {({ permissions: shown }) => (
            <Section title={t`What you may do here`}>
              <PermissionsTable permissions={shown} />
            </Section>
          )}
        </QueryResult>
      </Stack>
    </Page>
  );
}

function Row({ kind, id, person, mayAssign }: Place & { person: PersonRoles; mayAssign: boolean }) {
  return (
    <Table.Tr>
      <Table.Td>
        {person.user.username} {person.is_service_account && <Badge color="gray">{t`Service account`}</Badge>}
      </Table.Td>
      <Table.Td>{person.role}</Table.Td>
      <Table.Td>
        <Stack gap={4}>
          {person.assignments.map((one) => (
            <Source key={one.binding ?? "organisation"} assignment={one} place={{ kind, id }} person={person} mayAssign={mayAssign} />
          ))}
        </Stack>
      </Table.Td>
    </Table.Tr>
  );
}

interface SourceProps {
  assignment: RoleAssignment;
  place: Place;
  person: PersonRoles;
  mayAssign: boolean;
}

/** Where one role comes from; those given in this place are changed and withdrawn here. */
function Source({ assignment, place, person, mayAssign }: SourceProps) {
  const queries = useQueryClient();
  const { binding, role, place_id, place_name: where } = assignment;
  const params = { params: { path: { id: binding ?? "" } } };
  const change = useMutation({
    mutationFn: (to: BoundRole) => unwrap(api.PATCH("/api/v1/role-bindings/{id}", { ...params, body: { role: to } })),
    onSuccess: () => queries.invalidateQueries(),
  });

  async function withdraw() {
    await unwrap(api.DELETE("/api/v1/role-bindings/{id}", params));
    await queries.invalidateQueries();
  }

  if (binding === null || place_id !== place.id) {
    return (
      <Text size="sm">
        {role} · {assignment.place === "team" ? <TextLink to={`/teams/${place_id}/roles`}>{t`team ${where}`}</TextLink> : t`organisation ${where}`}
      </Text>
    );
  }
  const { username } = person.user;
  if (!mayAssign) return <Text size="sm">{`${role} · ${t`given here`}`}</Text>;
  return (
    <>
      <Group gap="xs">
        <NativeSelect
          size="xs"
          aria-label={t`Role of ${username}`}
          value={role}
          onChange={(event) => change.mutate(event.currentTarget.value as BoundRole)}
          data={person.is_service_account ? BOUND_ROLES.filter((one) => one !== "admin") : BOUND_ROLES}
        />
        <ConfirmButton
          label={t`Withdraw`}
          ariaLabel={t`Withdraw the role of ${username}`}
          size="xs"
          title={t`Withdraw the role of ${username} in ${where}?`}
          text={t`Other roles that count here stay. Open pages, streams and downloads end at once.`}
          action={withdraw}
        />
      </Group>
      <ProblemAlert error={change.error} />
    </>
  );
}
