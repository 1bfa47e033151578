// SPDX-License-Identifier: Apache-2.0
// An address without a page.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { Link } from "react-router";

import { EmptyState } from "@/components/feedback/EmptyState";
import { Page } from "@/components/layout/Page";

export function NotFound() {
  return (
    <Page title={t`Not found`}>
      <EmptyState
        title={t`There is no such page`}
        text={t`The address may be mistyped, or what it showed has been deleted.`}
        action={
          <Button component={Link} to="/jobs" variant="default">
            {t`Go to the jobs`}
          </Button>
        }
      />
    </Page>
  );
}
