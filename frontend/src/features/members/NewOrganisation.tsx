// SPDX-License-Identifier: Apache-2.0
// Creates an organisation; for administrators of the platform.
import { t } from "@lingui/core/macro";
import { Button, Group, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Section } from "@/components/layout/Section";

export function NewOrganisation() {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/organisations", { body: { name: name.trim() } })),
    onSuccess: () => {
      setName("");
      return queries.invalidateQueries({ queryKey: ["organisations"] });
    },
  });
  const problem = create.error instanceof Problem ? create.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <Section title={t`New organisation`}>
      <form onSubmit={submit} aria-label={t`New organisation`}>
        <Group align="end" gap="xs">
          <TextInput
            label={t`Name`}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={problem?.of("name")}
          />
          <Button type="submit" loading={create.isPending} disabled={name.trim() === ""}>
            {t`Create organisation`}
          </Button>
        </Group>
      </form>
      {problem && problem.errors.length === 0 && <ProblemAlert error={problem} />}
    </Section>
  );
}
