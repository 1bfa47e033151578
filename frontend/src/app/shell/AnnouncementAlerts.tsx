// SPDX-License-Identifier: Apache-2.0
// What administrators say now, as plain text; what may be dismissed goes for this person, on every device.
import { plural, t } from "@lingui/core/macro";
import { Alert, Button, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { announcementsKey } from "@/api/announcements";
import { api, unwrap } from "@/api/client";
import type { Announcement } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

/** Where there are more, only the first one is whole: on a phone they would fill the screen of every page. */
const MOST_SHOWN = 2;

/** Warnings first. */
export function AnnouncementAlerts({ announcements }: { announcements: Announcement[] }) {
  const [isWhole, setWhole] = useState(false);
  const inOrder = [...announcements].sort((one, other) => Number(other.severity === "warning") - Number(one.severity === "warning"));
  const isCut = inOrder.length > MOST_SHOWN && !isWhole;
  const nMore = inOrder.length - 1;
  return (
    <>
      {(isCut ? inOrder.slice(0, 1) : inOrder).map((one) => (
        <AnnouncementAlert key={one.id} announcement={one} />
      ))}
      {isCut && (
        <Button variant="subtle" size="compact-sm" style={{ alignSelf: "flex-start" }} onClick={() => setWhole(true)}>
          {plural(nMore, { one: "Show # more announcement", other: "Show # more announcements" })}
        </Button>
      )}
    </>
  );
}

function AnnouncementAlert({ announcement: { id, text, severity, organisation, is_dismissible: isDismissible } }: { announcement: Announcement }) {
  const queries = useQueryClient();
  const dismissal = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/announcements/{id}/dismissal", { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: announcementsKey }),
  });
  const isWarning = severity === "warning";
  const title = isWarning ? t`Warning` : t`Announcement`;
  return (
    <Alert
      color={isWarning ? "orange" : "blue"}
      role="status"
      icon={<Icon name={isWarning ? "alert" : "announcement"} />}
      title={organisation === null ? title : t`${title} for ${organisation.name}`}
      withCloseButton={isDismissible}
      closeButtonLabel={t`Dismiss`}
      onClose={() => dismissal.mutate()}
      styles={{ title: { overflowWrap: "anywhere" } }}
    >
      <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {text}
      </Text>
      <ProblemAlert error={dismissal.error} />
    </Alert>
  );
}
