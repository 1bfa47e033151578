// SPDX-License-Identifier: Apache-2.0
// The dialogue that publishes an announcement.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { announcementsKey } from "@/api/announcements";
import { api, Problem, unwrap } from "@/api/client";
import type { Announcement, AnnouncementRequest } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { OrganisationSelect } from "@/components/form/choice/OrganisationSelect";
import { Dialog } from "@/components/form/Dialog";

const MOST_TEXT = 500;
const SHOWN_HERE = ["text", "severity", "organisation", "begins_at", "ends_at"];

export function NewAnnouncement() {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button size="xs" onClick={open}>
        {t`New announcement`}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={t`New announcement`}>
        <Form close={close} />
      </Dialog>
    </>
  );
}

function Form({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [severity, setSeverity] = useState<Announcement["severity"]>("information");
  const [organisation, setOrganisation] = useState("");
  const [begin, setBegin] = useState("");
  const [end, setEnd] = useState("");
  const [isDismissible, setDismissible] = useState(true);
  const publish = useMutation({
    mutationFn: () => {
      const times = { begins_at: timeOf(begin), ends_at: timeOf(end) };
      const body: AnnouncementRequest = { text, severity, organisation: organisation || null, ...times, is_dismissible: isDismissible };
      return unwrap(api.POST("/api/v1/announcements", { body }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: announcementsKey });
      close();
    },
  });
  const problem = publish.error instanceof Problem ? publish.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    publish.mutate();
  }

  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        <Textarea
          label={t`Text`}
          description={t`Plain text: it is shown as you write it.`}
          required
          rows={4}
          maxLength={MOST_TEXT}
          value={text}
          error={problem?.of("text")}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <NativeSelect
            label={t`Severity`}
            value={severity}
            data={[
              { value: "information", label: t`Information` },
              { value: "warning", label: t`Warning` },
            ]}
            error={problem?.of("severity")}
            onChange={(event) => setSeverity(event.currentTarget.value as Announcement["severity"])}
            miw={140}
          />
          <OrganisationSelect
            label={t`For`}
            none={t`Everybody`}
            value={organisation}
            onChange={setOrganisation}
            error={problem?.of("organisation")}
            miw={180}
          />
        </Group>
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <TextInput
            type="datetime-local"
            label={t`Begins at`}
            description={t`Left empty: now.`}
            value={begin}
            error={problem?.of("begins_at")}
            onChange={(event) => setBegin(event.currentTarget.value)}
            miw={190}
          />
          <TextInput
            type="datetime-local"
            label={t`Ends at`}
            description={t`Left empty: when it is deleted.`}
            value={end}
            error={problem?.of("ends_at")}
            onChange={(event) => setEnd(event.currentTarget.value)}
            miw={190}
          />
        </Group>
        <Checkbox
          label={t`People can dismiss it`}
          checked={isDismissible}
          onChange={(event) => setDismissible(event.currentTarget.checked)}
        />
        <ProblemAlert error={publish.error} atFields={SHOWN_HERE} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            {t`Cancel`}
          </Button>
          <Button type="submit" loading={publish.isPending}>
            {t`Publish`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** null: not given. */
function timeOf(local: string): string | null {
  return local === "" ? null : new Date(local).toISOString();
}
