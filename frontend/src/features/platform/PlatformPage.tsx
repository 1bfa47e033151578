// SPDX-License-Identifier: Apache-2.0
// For administrators of the platform: what they announce to everybody, and how the installation is.
import { t } from "@lingui/core/macro";

import { isStaff, useMe } from "@/api/session";
import { AdministratorsOnly } from "@/components/feedback/AdministratorsOnly";
import { Page } from "@/components/layout/Page";
import { Announcements } from "@/features/platform/Announcements";
import { Checks } from "@/features/platform/Checks";
import { Settings } from "@/features/platform/Settings";

export function PlatformPage() {
  if (!isStaff(useMe())) {
    return (
      <Page title={t`Platform`}>
        <AdministratorsOnly text={t`What they announce is above every page.`} to="/" page={t`Home`} />
      </Page>
    );
  }
  return (
    <Page title={t`Platform`} subtitle={t`What you announce to everybody, and how this installation is.`}>
      <Announcements />
      <Checks />
      <Settings />
    </Page>
  );
}
