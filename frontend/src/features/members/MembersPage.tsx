// SPDX-License-Identifier: Apache-2.0
// Who belongs to an organisation, whom it has invited, its teams and projects, and where the user is invited to.
import { t } from "@lingui/core/macro";
import { Group, Stack, Table, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";

import { api, unwrap } from "@/api/client";
import { organisationChoices, useChosenOrFirst } from "@/api/choices";
import { isStaff, useMe, WRITING } from "@/api/session";
import type { Invitation, Organisation, OrganisationBrief } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RoleNeeded } from "@/components/feedback/RoleNeeded";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { OrganisationSelect } from "@/components/form/choice/OrganisationSelect";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { SearchedTable } from "@/components/table/SearchedTable";
import { Invite } from "@/features/members/Invite";
import { MemberRole } from "@/features/members/MemberRole";
import { MyInvitations } from "@/features/members/MyInvitations";
import { NewOrganisation } from "@/features/members/NewOrganisation";
import { OrganisationHead } from "@/features/members/OrganisationHead";
import { Projects } from "@/features/members/Projects";
import { Teams } from "@/features/members/Teams";
import { DeleteOrganisation } from "@/features/members/deletion/DeleteOrganisation";
import { ServiceAccounts } from "@/features/members/serviceAccounts/ServiceAccounts";
import { invitationsKey, membersKey, readInvitations, readMembers } from "@/features/members/queries";

export function MembersPage() {
  const me = useMe();
  const [parameters, setParameters] = useSearchParams();
  const { chosen, items: organisations = [], list } = useChosenOrFirst(organisationChoices(), parameters.get("organisation") ?? "");
  const [deleted, setDeleted] = useState<Organisation | null>(null);
  return (
    <Page title={t`Members`} subtitle={t`Who belongs to your organisations. People are invited, and accept.`}>
      <MyInvitations />
      <QueryResult of={list} label={t`Loading the organisations`}>
        {() => null}
      </QueryResult>
      {organisations.length === 0 && me.memberships.length === 0 && !list.isPending && !list.isError && (
        <EmptyState
          title={t`You belong to no organisation`}
          text={t`Ask an admin of one to invite you; invitations are shown here.`}
        />
      )}
      {organisations.length > 1 && (
        <OrganisationSelect maw={360} value={chosen?.id ?? ""} onChange={(organisation) => setParameters({ organisation })} />
      )}
      {chosen && <Members key={chosen.id} organisation={chosen} onDelete={setDeleted} />}
      <DeleteOrganisation organisation={deleted} onClose={() => setDeleted(null)} />
      {me.memberships
        .filter(({ role }) => role === "outsider")
        .map(({ id, organisation }) => (
          <OfOutsider key={id} membershipId={id} organisation={organisation} />
        ))}
      {isStaff(me) && <NewOrganisation />}
    </Page>
  );
}

/** What an outsider of the organisation sees of it. */
function OfOutsider({ membershipId, organisation }: { membershipId: string; organisation: OrganisationBrief }) {
  const me = useMe();
  return (
    <Stack maw={860}>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {organisation.name}
        </Title>
        <Remove organisation={organisation} membershipId={membershipId} user={me} isAdmin={false} />
      </Group>
      <Text size="sm" c="dimmed">{t`You are an outsider of ${organisation.name}: you see the projects and teams in which you were given a role, and nothing else.`}</Text>
      <Projects organisation={organisation} />
    </Stack>
  );
}

function Members({ organisation, onDelete }: { organisation: Organisation; onDelete: (organisation: Organisation) => void }) {
  const me = useMe();
  const isAdmin = organisation.role === "admin" || organisation.role === "owner";
  return (
    <Stack maw={860}>
      <OrganisationHead organisation={organisation} onDelete={onDelete} />
      <Section title={t`People`} order={3}>
        <SearchedTable
          name="member"
          searchedBy={isAdmin ? t`User name or e-mail address` : t`User name`}
          label={t`Members`}
          head={[t`Name`, t`Role`, ""]}
          minWidth={420}
          queryKey={membersKey(organisation.id)}
          read={(query) => readMembers(organisation.id, query)}
          empty={null}
          row={(member) => (
            <Table.Tr key={member.id}>
              <Table.Td>{member.user.username}</Table.Td>
              <Table.Td>
                <MemberRole member={member} mine={organisation.role} />
              </Table.Td>
              <Table.Td ta="right">
                <Remove organisation={organisation} membershipId={member.id} user={member.user} isAdmin={isAdmin} />
              </Table.Td>
            </Table.Tr>
          )}
        />
      </Section>
      <RoleNeeded organisation={organisation} role="admin" action={t`Inviting and removing people`} />
      {isAdmin && (
        <Section title={t`Invitations`} order={3}>
          <Pending organisation={organisation} />
          <Invite organisationId={organisation.id} isOwner={organisation.role === "owner"} isStaff={isStaff(me)} />
        </Section>
      )}
      <ServiceAccounts organisation={organisation} isAdmin={isAdmin} />
      <Teams organisation={organisation} isAdmin={isAdmin} />
      <Projects organisation={organisation} isAdmin={isAdmin} mayAdd={WRITING.includes(organisation.role)} />
    </Stack>
  );
}

interface RemoveProps {
  organisation: OrganisationBrief;
  membershipId: string;
  user: { id: string; username: string };
  isAdmin: boolean;
}

function Remove({ organisation, membershipId, user, isAdmin }: RemoveProps) {
  const queries = useQueryClient();
  const isMe = useMe().id === user.id;

  async function remove() {
    await unwrap(api.DELETE("/api/v1/memberships/{id}", { params: { path: { id: membershipId } } }));
    await queries.invalidateQueries();
  }

  if (!isAdmin && !isMe) return null;
  const label = isMe ? t`Leave` : t`Remove`;
  return (
    <ConfirmButton
      label={label}
      ariaLabel={isMe ? t`Leave ${organisation.name}` : t`Remove ${user.username}`}
      size="xs"
      title={isMe ? t`Leave ${organisation.name}?` : t`Remove ${user.username} from ${organisation.name}?`}
      text={t`Jobs and data stay with the organisation. Open pages, streams and downloads end at once.`}
      action={remove}
    />
  );
}

function Pending({ organisation }: { organisation: Organisation }) {
  return (
    <SearchedTable
      name="invitation"
      searchedBy={t`User name or e-mail address`}
      label={t`Pending invitations`}
      head={[t`Invited`, t`Role`, t`Expires`, ""]}
      minWidth={480}
      queryKey={invitationsKey(organisation.id)}
      read={(query) => readInvitations(organisation.id, query)}
      empty={null}
      row={(invitation) => <PendingRow key={invitation.id} invitation={invitation} organisationId={organisation.id} />}
    />
  );
}

function PendingRow({ invitation, organisationId }: { invitation: Invitation; organisationId: string }) {
  const queries = useQueryClient();

  async function withdraw() {
    await unwrap(api.DELETE("/api/v1/invitations/{id}", { params: { path: { id: invitation.id } } }));
    await queries.invalidateQueries({ queryKey: ["members", organisationId] });
  }

  return (
    <Table.Tr>
      <Table.Td>{invited(invitation)}</Table.Td>
      <Table.Td>{invitation.role}</Table.Td>
      <Table.Td>
        <RelativeTime at={invitation.expires_at} />
      </Table.Td>
      <Table.Td ta="right">
        <ConfirmButton
          label={t`Withdraw`}
          ariaLabel={t`Withdraw the invitation of ${invited(invitation)}`}
          size="xs"
          title={t`Withdraw the invitation of ${invited(invitation)}?`}
          text={t`It cannot be accepted any more. The person can be invited again.`}
          action={withdraw}
        />
      </Table.Td>
    </Table.Tr>
  );
}

function invited({ username, email }: Invitation): string {
  return username || email || t`a person with the link`;
}
