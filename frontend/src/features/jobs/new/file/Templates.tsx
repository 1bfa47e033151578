// SPDX-License-Identifier: Apache-2.0
// Settings kept by a name in this browser, as job files; what is sent to others is saved as job.yaml.
import { t } from "@lingui/core/macro";
import { Button, CloseButton, Group, Menu, Text, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import type { JobSubmit } from "@/api/types";

import type { Draft } from "../draft";
/** Its code for YAML is loaded when a template is used. */
const jobFile = () => import("./jobFile");

interface Template {
  name: string;
  text: string;
}

interface Props {
  /** What the form says. */
  request: JobSubmit;
  onDraft: (draft: Draft) => void;
}

export function Templates({ request, onDraft }: Props) {
  const [templates, setTemplates] = useLocalStorage<Template[]>({ key: "mlhub-job-templates", defaultValue: [] });
  const [name, setName] = useState("");
  const use = useMutation({
    mutationFn: async ({ text }: Template) => {
      const found = await (await jobFile()).readFile(text);
      if (!("draft" in found)) throw new Error(found.problems.join(" "));
      return found.draft;
    },
    onSuccess: onDraft,
  });

  async function save() {
    const wanted = name.trim();
    if (wanted === "") return;
    const text = (await jobFile()).fileText(request);
    setTemplates((known) => [...known.filter((one) => one.name !== wanted), { name: wanted, text }]);
    setName("");
  }

  return (
    <Group gap="xs">
      <Menu withinPortal>
        <Menu.Target>
          <Button size="xs" variant="default" loading={use.isPending}>
            {t`Templates`}
          </Button>
        </Menu.Target>
        <Menu.Dropdown maw={340}>
          {templates.length === 0 && <Menu.Label>{t`No template yet. Save the settings as they are now:`}</Menu.Label>}
          {templates.map((template) => (
            <Group key={template.name} gap={0} wrap="nowrap">
              <Menu.Item onClick={() => use.mutate(template)}>{template.name}</Menu.Item>
              <CloseButton
                size="sm"
                aria-label={t`Forget the template ${template.name}`}
                onClick={() => setTemplates((known) => known.filter((one) => one.name !== template.name))}
              />
            </Group>
          ))}
          <Menu.Divider />
          <Group gap="xs" p="xs" wrap="nowrap">
            <TextInput
              size="xs"
              aria-label={t`Name of the template`}
              placeholder={t`Name`}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              onKeyDown={(event) => {
                event.stopPropagation(); // the menu would take letters for a search among its items
                if (event.key !== "Enter") return;
                event.preventDefault(); // the form is not sent
                void save();
              }}
            />
            <Button size="xs" onClick={() => void save()} disabled={name.trim() === ""}>
              {t`Save template`}
            </Button>
          </Group>
          <Text size="xs" c="dimmed" px="xs" pb="xs">
            {t`Templates are kept in this browser. For others, save the settings as job.yaml.`}
          </Text>
        </Menu.Dropdown>
      </Menu>
      {use.error !== null && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {use.error.message}
        </Text>
      )}
    </Group>
  );
}
