// SPDX-License-Identifier: Apache-2.0
// Settings kept by a name in this browser, as job files; what is sent to others is saved as job.yaml.
import { t } from "@lingui/core/macro";
import { Group, Menu, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import type { JobSubmit } from "@/api/types";
import { KeptByName } from "@/components/form/KeptByName";

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
  const use = useMutation({
    mutationFn: async ({ text }: Template) => {
      const found = await (await jobFile()).readFile(text);
      if (!("draft" in found)) throw new Error(found.problems.join(" "));
      return found.draft;
    },
    onSuccess: onDraft,
  });
  return (
    <Group gap="xs">
      <KeptByName<Template>
        storageKey="mlhub-job-templates"
        label={t`Templates`}
        nameLabel={t`Name of the template`}
        saveText={t`Save template`}
        forgetText={(name) => t`Forget the template ${name}`}
        made={async (name) => ({ name, text: (await jobFile()).fileText(request) })}
        onUse={(template) => use.mutate(template)}
        isUsing={use.isPending}
        width={340}
        first={(isEmpty) => isEmpty && <Menu.Label>{t`No template yet. Save the settings as they are now:`}</Menu.Label>}
        note={
          <Text size="xs" c="dimmed" px="xs" pb="xs">
            {t`Templates are kept in this browser. For others, save the settings as job.yaml.`}
          </Text>
        }
      />
      {use.error !== null && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {use.error.message}
        </Text>
      )}
    </Group>
  );
}
