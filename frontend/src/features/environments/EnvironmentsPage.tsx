// SPDX-License-Identifier: Apache-2.0
// The packages that code requires: every environment that was built, what uses it, and the log of its build.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Paper, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSearchParams } from "react-router";

import { environmentQuery } from "@/api/environments";
import type { Environment, EnvironmentState } from "@/api/types";
import { EnvironmentActions } from "@/components/display/environment/EnvironmentActions";
import { EnvironmentStatus } from "@/components/display/environment/EnvironmentStatus";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { TextLink } from "@/components/display/TextLink";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { PagedTable } from "@/components/table/PagedTable";
import { useFilters } from "@/components/table/useFilters";
import { ENVIRONMENT_STATES } from "@/domain/states/environmentState";
import { environmentsQuery } from "@/features/environments/queries";
import { bytes } from "@/lib/quantities";

const STATES = Object.entries(ENVIRONMENT_STATES).map(([value, { label }]) => ({ value, label }));

export function EnvironmentsPage() {
  const { filters, filter, turn } = useFilters(["state"]);
  const [search, setSearch] = useSearchParams();
  const shown = search.get("environment");
  const state = isState(filters.state) ? { state: filters.state } : {};
  const cursor = filters.cursor === undefined ? {} : { cursor: filters.cursor };

  const show = (id: string) =>
    setSearch((known) => {
      if (id === shown) known.delete("environment");
      else known.set("environment", id);
      return known;
    });

  return (
    <Page title={t`Environments`} subtitle={t`The packages that code requires, built once for each organisation.`}>
      {shown !== null && <Shown key={shown} id={shown} onDeleted={() => show(shown)} />}
      <NativeSelect
        label={t`State`}
        maw={280}
        value={state.state ?? ""}
        onChange={(event) => filter("state", event.currentTarget.value)}
        data={[{ value: "", label: t`All states` }, ...STATES]}
      />
      <PagedTable
        list={useQuery(environmentsQuery({ ...state, ...cursor }))}
        label={t`Environments`}
        head={[t`Packages of`, t`State`, t`Packages`, t`Size`, t`Used by`, t`Requested`, t`Log`, ""]}
        minWidth={840}
        empty={
          <EmptyState
            title={t`No environments`}
            text={t`Code that requires packages brings requirements.txt, uv.lock or pyproject.toml; its packages are then built here.`}
            action={<TextLink to="/models">{t`Upload code`}</TextLink>}
          />
        }
        row={(environment) => (
          <Row
            key={environment.id}
            environment={environment}
            isShown={environment.id === shown}
            onShow={() => show(environment.id)}
            onDeleted={() => environment.id === shown && show(environment.id)}
          />
        )}
        onCursor={turn}
      />
    </Page>
  );
}

function isState(text: string | undefined): text is EnvironmentState {
  return text !== undefined && text in ENVIRONMENT_STATES;
}

function Shown({ id, onDeleted }: { id: string; onDeleted: () => void }) {
  return (
    <QueryResult of={useQuery(environmentQuery(id))}>
      {(found) => (
        <Paper withBorder p="md">
          <EnvironmentStatus environment={found} isLogShown mayDelete onDeleted={onDeleted} />
        </Paper>
      )}
    </QueryResult>
  );
}

interface RowProps {
  environment: Environment;
  isShown: boolean;
  onShow: () => void;
  onDeleted: () => void;
}

function Row({ environment, isShown, onShow, onDeleted }: RowProps) {
  const { state, origin, requirements, size_bytes, created_at, n_versions } = environment;
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{origin}</Table.Td>
      <Table.Td>
        <StateBadge {...ENVIRONMENT_STATES[state]} />
      </Table.Td>
      <Table.Td title={requirements.join(", ")}>{plural(requirements.length, { one: "# requirement", other: "# requirements" })}</Table.Td>
      <Table.Td>{state === "ready" && size_bytes === 0 ? t`The platform has them` : bytes(size_bytes)}</Table.Td>
      <Table.Td>{usersOf(environment)}</Table.Td>
      <Table.Td>
        <RelativeTime at={created_at} />
      </Table.Td>
      <Table.Td>
        <Button variant="subtle" size="compact-sm" aria-expanded={isShown} onClick={onShow}>
          {isShown ? t`Hide` : t`Show`}
        </Button>
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {/* of one that versions name the panel still offers it: they may all be refused */}
          <EnvironmentActions environment={environment} mayDelete={state === "failed" || n_versions === 0} onDeleted={onDeleted} />
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** Links to the newest versions that require it, and how many more there are. */
function usersOf({ used_by, n_versions }: Environment): ReactNode {
  if (n_versions === 0) return t`no version`;
  const rest = n_versions - used_by.length;
  return (
    <>
      {used_by.map(({ id, number, model }, index) => (
        <span key={id}>
          <TextLink to={`/models/${model.id}?version=${id}`}>
            {t`${model.name} v${number}`}
          </TextLink>
          {index < used_by.length - 1 && ", "}
        </span>
      ))}
      {rest > 0 && t` and ${rest} more`}
    </>
  );
}
