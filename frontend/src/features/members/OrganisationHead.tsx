// SPDX-License-Identifier: Apache-2.0
// An organisation's name; its owners rename, archive, open and delete it.
import { t } from "@lingui/core/macro";
import { Badge, Button, Group, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Link } from "react-router";

import { api, unwrap } from "@/api/client";
import type { Organisation } from "@/api/types";
import { BothVersions, changedMeanwhile } from "@/components/feedback/BothVersions";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";

interface Change {
  name?: string;
  is_archived?: boolean;
  /** What was on screen of what is changed. */
  seen: { name?: string; is_archived?: boolean };
}

interface Props {
  organisation: Organisation;
  /** Asks for the deletion with all that it holds. */
  onDelete: (organisation: Organisation) => void;
}

export function OrganisationHead({ organisation, onDelete }: Props) {
  const queries = useQueryClient();
  const [name, setName] = useState<string | null>(null);
  const [began, setBegan] = useState(organisation.name);
  const params = { params: { path: { id: organisation.id } } };
  const isArchived = organisation.archived_at !== null;
  const change = useMutation({
    mutationFn: (body: Change) => unwrap(api.PATCH("/api/v1/organisations/{id}", { ...params, body })),
    onSuccess: () => reload(),
  });
  const conflict = changedMeanwhile(change.error);
  const archive = () => change.mutateAsync({ is_archived: true, seen: { is_archived: false } });

  async function reload() {
    await queries.invalidateQueries();
    change.reset();
    setName(null);
  }

  function edit() {
    setBegan(organisation.name);
    setName(organisation.name);
  }

  async function remove() {
    await unwrap(api.DELETE("/api/v1/organisations/{id}", params));
    await queries.invalidateQueries();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    if (name !== null) change.mutate({ name: name.trim(), seen: { name: began } });
  }

  return (
    <>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {organisation.name} {isArchived && <Badge color="gray">{t`Archived`}</Badge>}
        </Title>
        <Group gap="xs">
          <Button size="xs" variant="default" component={Link} to={`/organisations/${organisation.id}/retention`} aria-label={t`Retention of ${organisation.name}`}>
            {t`Retention`}
          </Button>
          {organisation.role === "owner" && (
            <>
              <Button size="xs" variant="default" onClick={edit}>
                {t`Rename organisation`}
              </Button>
              {isArchived ? (
                <Button size="xs" variant="default" loading={change.isPending} onClick={() => change.mutate({ is_archived: false, seen: { is_archived: true } })}>
                  {t`Open organisation`}
                </Button>
              ) : (
                <ConfirmButton
                  label={t`Archive organisation`}
                  size="xs"
                  title={t`Archive ${organisation.name}?`}
                  text={t`It takes no projects, uploads and jobs until it is opened again. Jobs that wait or run go on; everything stays readable.`}
                  action={archive}
                />
              )}
              {isArchived ? (
                <Button variant="default" c="var(--mantine-color-error)" size="xs" onClick={() => onDelete(organisation)}>
                  {t`Delete with all its data`}
                </Button>
              ) : (
                <ConfirmButton
                  label={t`Delete organisation`}
                  size="xs"
                  title={t`Delete ${organisation.name}?`}
                  text={t`For good, with its memberships, and only when it has no projects and teams any more. Archive it to delete it with all that it holds.`}
                  action={remove}
                />
              )}
            </>
          )}
        </Group>
      </Group>
      {name !== null && (
        <form onSubmit={submit} aria-label={t`Rename the organisation`}>
          <Group gap="xs">
            <TextInput
              aria-label={t`New name of ${organisation.name}`}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button size="xs" type="submit" loading={change.isPending} disabled={name.trim() === ""}>
              {t`Save`}
            </Button>
            <Button size="xs" variant="default" onClick={() => setName(null)}>
              {t`Keep the name`}
            </Button>
          </Group>
        </form>
      )}
      {conflict && change.variables ? (
        <BothVersions
          problem={conflict}
          labels={{ name: t`Name`, is_archived: t`Archived` }}
          onTheirs={() => void reload()}
          onMine={(seen) => change.mutate({ ...change.variables, seen: seen })}
        />
      ) : (
        <ProblemAlert error={change.error} />
      )}
    </>
  );
}
