// SPDX-License-Identifier: Apache-2.0
// Makes a token and shows it, once.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Group, NativeSelect, Paper, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { type ChoiceSource, projectChoices } from "@/api/choices";
import { api, Problem, unwrap } from "@/api/client";
import { seenOrganisations, useMe } from "@/api/session";
import type { Project, Scope } from "@/api/types";
import { SecretOnce } from "@/components/display/SecretOnce";
import { SearchSelect } from "@/components/form/choice/SearchSelect";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

const SCOPES: Record<Scope, string> = {
  read: t`Read: see jobs, data and models`,
  submit: t`Submit: upload, and run jobs`,
  write: t`Write: submit, and manage projects and people, where you may`,
  admin: t`Admin: manage the platform, for its administrators`,
};

const LIFETIMES = [
  { value: "7", label: t`7 days` },
  { value: "30", label: t`30 days` },
  { value: "90", label: t`90 days` },
  { value: "365", label: t`One year` },
  { value: "", label: t`Until revoked` },
];

const PROJECTS = projectChoices();
/** Among organisations, which have ids of their own. */
const LIMITING_PROJECTS: ChoiceSource<Project> = { key: [...PROJECTS.key, "of tokens"], read: PROJECTS.read, idOf: ({ id }) => `project ${id}` };

export function NewToken() {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["read", "write"]);
  const [days, setDays] = useState("90");
  const [limit, setLimit] = useState("");
  const me = useMe();
  const make = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/tokens", {
          body: {
            name: name.trim(),
            scopes: scopes as Scope[],
            expires_in_days: days === "" ? null : Number(days),
            organisation: limit.startsWith("organisation ") ? limit.slice("organisation ".length) : null,
            project: limit.startsWith("project ") ? limit.slice("project ".length) : null,
          },
        }),
      ),
    onSuccess: () => {
      setName("");
      void queries.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  const problem = make.error instanceof Problem ? make.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  if (make.data) {
    return (
      <SecretOnce
        title={t`The token ${make.data.name} is made`}
        text={t`Copy it now: MLHub keeps only its fingerprint and cannot show it again.`}
        secret={make.data.token}
        label={t`The token`}
        onDone={make.reset}
      />
    );
  }
  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} aria-label={t`New token`}>
        <Stack>
          <Group align="flex-start" grow preventGrowOverflow={false}>
            <TextInput
              label={t`Name`}
              description={t`Where it will be used.`}
              placeholder="laptop"
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={problem?.of("name")}
              miw={200}
            />
            <NativeSelect
              label={t`Lifetime`}
              description={t`Afterwards it is refused.`}
              value={days}
              onChange={(event) => setDays(event.currentTarget.value)}
              data={LIFETIMES}
              error={problem?.of("expires_in_days")}
              miw={160}
            />
          </Group>
          <SearchSelect
            label={t`Reaches`}
            description={t`Everything else is hidden from it.`}
            allowDeselect={false}
            value={limit}
            onChange={setLimit}
            source={LIMITING_PROJECTS}
            textOf={({ name: label }) => t`Only the project ${label}`}
            isOffered={({ organisation }) => me.memberships.some((membership) => membership.organisation.id === organisation.id)}
            extra={[
              { value: "", label: t`All that I reach` },
              ...seenOrganisations(me).map(({ id, name: label }) => ({
                value: `organisation ${id}`,
                label: t`Only the organisation ${label}`,
              })),
            ]}
            error={problem?.of("organisation") ?? problem?.of("project")}
            maw={400}
          />
          <Checkbox.Group label={t`Scopes`} value={scopes} onChange={setScopes} error={problem?.of("scopes")}>
            <Group mt={4} gap="md">
              {Object.entries(SCOPES).map(([scope, label]) => (
                <Checkbox key={scope} value={scope} label={label} />
              ))}
            </Group>
          </Checkbox.Group>
          <ProblemAlert error={make.error} />
          <Group justify="flex-end">
            <Button type="submit" loading={make.isPending} disabled={name.trim() === "" || scopes.length === 0}>
              {t`Make a token`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
