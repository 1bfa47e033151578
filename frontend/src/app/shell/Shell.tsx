// SPDX-License-Identifier: Apache-2.0
// The frame around the pages: navigation at the left (behind a burger on a phone), the user's menu, the page.
import { t } from "@lingui/core/macro";
import { ActionIcon, Burger, Container, Group, Progress, Stack, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useDisclosure, useLocalStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { Link, Outlet, useNavigation } from "react-router";

import { useCurrentAnnouncements } from "@/api/announcements";
import { schedulerStatusQuery } from "@/api/scheduler";
import type { StreamState } from "@/api/live/stream";
import { isStaff, useMe } from "@/api/session";
import type { Me } from "@/api/types";
import { useKeys } from "@/app/palette/useKeys";
import { ImpersonationBanner } from "@/app/shell/ImpersonationBanner";
import { Navigation } from "@/app/shell/Navigation";
import { useLiveQueries } from "@/app/queries/useLiveQueries";
import { Icon } from "@/components/display/Icon";
import { RoundsAlert } from "@/components/feedback/RoundsAlert";
import { AdmissionAlert } from "@/components/feedback/AdmissionAlert";
import { SchedulerAlerts, hasSchedulerProblem } from "@/components/feedback/SchedulerAlerts";
import { lazyComponent } from "@/lib/chunk";
import { clock } from "@/lib/time";

import classes from "./Shell.module.css";

/** What opens on a press only: the page need not wait for it. */
const ShellMenus = lazyComponent(async () => (await import("./ShellMenus")).ShellMenus);
/** Opened with a key or by a press. */
const CommandPalette = lazyComponent(async () => (await import("../palette/CommandPalette")).CommandPalette);
const KeyList = lazyComponent(async () => (await import("../palette/KeyList")).KeyList);
/** On most days nothing is said. */
const AnnouncementAlerts = lazyComponent(async () => (await import("./AnnouncementAlerts")).AnnouncementAlerts);
/** What is notified before it has arrived is shown when it has. */
const Notices = lazyComponent(async () => (await import("./Notices")).Notices);

const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

 
const SHORTCUTS = "Control+K Meta+K";

type Window = "palette" | "keys" | null;

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const [isFolded, setFolded] = useLocalStorage({ key: "mlhub-navigation-folded", defaultValue: false, getInitialValueInEffect: false });
  const [shown, setShown] = useState<Window>(null);
  const stream = useLiveQueries();
  const me = useMe();
  useKeys({ onPalette: () => setShown("palette"), onKeys: () => setShown("keys") });
  const closeWindow = () => setShown(null);

  return (
    <div className={classes.shell} data-folded={isFolded || undefined}>
      <a className="skip-link" href="#content">
        {t`Skip to the content`}
      </a>
      <header className={classes.header}>
        <Group gap="sm">
          <Burger
            opened={isOpen}
            onClick={toggle}
            size="sm"
            aria-label={isOpen ? t`Close the navigation` : t`Open the navigation`}
          />
          <Brand />
        </Group>
        <Group gap="xs">
          <Liveness {...stream} />
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t`Search`} onClick={() => setShown("palette")}>
            <Icon name="search" />
          </ActionIcon>
        </Group>
      </header>

      <nav className={classes.navbar} aria-label={t`Main`} data-open={isOpen || undefined}>
        <div className={classes.top}>
          <Brand />
          <Liveness {...stream} />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={isFolded ? t`Widen the navigation` : t`Fold the navigation`}
            aria-expanded={!isFolded}
            onClick={() => setFolded(!isFolded)}
          >
            <Icon name={isFolded ? "unfold" : "fold"} size={16} />
          </ActionIcon>
        </div>
        <UnstyledButton className={classes.search} onClick={() => setShown("palette")} aria-keyshortcuts={SHORTCUTS}>
          <Icon name="search" size={15} />
          <span>{t`Search`}</span>
          <kbd aria-hidden>{KEYS}</kbd>
        </UnstyledButton>
        <Navigation isFolded={isFolded} onChoose={close} />
        <Suspense fallback={<MenusLoading />}>
          <ShellMenus isFolded={isFolded} />
        </Suspense>
      </nav>

      <PageLoading />
      <main className={classes.main} id="content" tabIndex={-1}>
        <Banner me={me} />
        <Outlet />
      </main>
      <Suspense fallback={null}>
        <Notices />
        {shown === "palette" && <CommandPalette onClose={closeWindow} onKeys={() => setShown("keys")} />}
        {shown === "keys" && <KeyList onClose={closeWindow} />}
      </Suspense>
    </div>
  );
}

/** On every page everyone sees that scheduling has stopped or admission is paused, and what administrators say; administrators see other problems of the scheduler. */
function Banner({ me }: { me: Me }) {
  const { data: status } = useQuery(schedulerStatusQuery);
  const hasStopped = status !== undefined && status.rounds.cause !== null;
  const hasProblem = isStaff(me) && status !== undefined && hasSchedulerProblem(status);
  const isPaused = status?.admission.is_paused === true;
  const announcements = useCurrentAnnouncements();
  if (!hasStopped && !isPaused && !hasProblem && me.impersonation === null && announcements.length === 0) return null;
  return (
    <Container size={1280} px={{ base: "md", md: "xl" }} pt="md">
      <Stack gap="xs">
        <ImpersonationBanner me={me} />
        {status !== undefined && <RoundsAlert rounds={status.rounds} />}
        {isPaused && <AdmissionAlert admission={status.admission} />}
        {hasProblem && <SchedulerAlerts status={status} />}
        {announcements.length > 0 && (
          <Suspense fallback={null}>
            <AnnouncementAlerts announcements={announcements} />
          </Suspense>
        )}
      </Stack>
    </Container>
  );
}

/** A thin bar at the top while the next page's code is on its way. */
function PageLoading() {
  const { state } = useNavigation();
  if (state !== "loading") return null;
  return (
    <Progress.Root size={3} radius={0} pos="fixed" top={0} left={0} right={0} style={{ zIndex: 1000 }}>
      <Progress.Section value={100} animated aria-label={t`Loading the page`} />
    </Progress.Root>
  );
}

function Brand() {
  return (
    <Link to="/" className={classes.brand} aria-label={t`MLHub`}>
      <Icon name="mark" size={20} />
      <Text component="span" fw={700} size="lg">
        {t`MLHub`}
      </Text>
    </Link>
  );
}

/** Whether changes appear by themselves; otherwise of when the page is. Of a page that opens the dot alone is seen. */
function Liveness({ isConnected, staleSince }: StreamState) {
  const isFirst = !isConnected && staleSince === null;
  const since = staleSince === null ? "" : t` since ${clock(staleSince)}`;
  const offline = <span>{t`Offline`}<span className={classes.since}>{since}</span></span>;
  const lost = isFirst ? t`Connecting` : t`Reconnecting: nothing was heard of the server${since}.`;
  return (
    <span
      className={classes.liveness}
      data-connected={isConnected || undefined}
      role="status"
      title={isConnected ? t`Changes appear automatically.` : lost}
    >
      {isFirst ? <VisuallyHidden>{lost}</VisuallyHidden> : isConnected ? t`Live` : offline}
    </span>
  );
}

/** Keeps the place of the menus until they are there. */
function MenusLoading() {
  return <div className={classes.menus} />;
}
