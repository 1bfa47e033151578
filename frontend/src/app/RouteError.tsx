// SPDX-License-Identifier: Apache-2.0
// What is shown instead of a page that failed while it was drawn, or whose code could not be loaded.
import { t } from "@lingui/core/macro";
import { Alert, Button, Text } from "@mantine/core";
import { useRouteError } from "react-router";

import { Icon } from "@/components/display/Icon";
import { Page } from "@/components/layout/Page";
import { ChunkLoadError } from "@/lib/chunk";

export function RouteError() {
  const error = useRouteError();
  const isChunk = error instanceof ChunkLoadError;
  return (
    <Page title={isChunk ? t`This page could not be loaded` : t`This page failed`}>
      <Alert
        color={isChunk ? "yellow" : "red"}
        role="alert"
        icon={<Icon name="alert" />}
        title={isChunk ? t`Reload to continue` : t`The dashboard failed to show this page`}
      >
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {isChunk
            ? t`MLHub was probably updated since you opened it, or the connection was interrupted. Reloading gets the current version.`
            : messageOf(error)}
        </Text>
        <Button size="xs" mt="sm" onClick={() => window.location.reload()}>
          {t`Reload`}
        </Button>
      </Alert>
    </Page>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : t`The cause is unknown.`;
}
