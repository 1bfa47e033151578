// SPDX-License-Identifier: Apache-2.0
// The frame around the pages: navigation at the left (behind a burger on a phone), the user's menu, the page.
import { t } from "@lingui/core/macro";
import { Badge, Burger, Container, Group, Progress, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { Link, Outlet, useNavigation } from "react-router";

import { schedulerStatusQuery } from "@/api/scheduler";
import type { StreamState } from "@/api/live/stream";
import { isStaff, useMe } from "@/api/session";
import { Navigation } from "@/app/shell/Navigation";
import { useLiveQueries } from "@/app/useLiveQueries";
import { RoundsAlert } from "@/components/feedback/RoundsAlert";
import { SchedulerAlerts, hasSchedulerProblem } from "@/components/feedback/SchedulerAlerts";
import { lazyComponent } from "@/lib/chunk";
import { clock } from "@/lib/time";

import classes from "./Shell.module.css";

/** What opens on a press only: the page need not wait for it. */
const ShellMenus = lazyComponent(async () => (await import("./ShellMenus")).ShellMenus);
/** What is notified before it has arrived is shown when it has. */
const Notices = lazyComponent(async () => (await import("./Notices")).Notices);

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const stream = useLiveQueries();
  const me = useMe();

  return (
    <>
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
        <Liveness {...stream} />
      </header>

      <nav className={classes.navbar} aria-label={t`Main`} data-open={isOpen || undefined}>
        <Group px="sm" py="xs" justify="space-between" visibleFrom="sm" wrap="nowrap">
          <Brand />
          <Liveness {...stream} />
        </Group>
        <Navigation onChoose={close} />
        <Suspense fallback={<MenusLoading />}>
          <ShellMenus />
        </Suspense>
      </nav>

      <PageLoading />
      <main className={classes.main} id="content" tabIndex={-1}>
        <Banner isStaff={isStaff(me)} />
        <Outlet />
      </main>
      <Suspense fallback={null}>
        <Notices />
      </Suspense>
    </>
  );
}

/** On every page everyone sees that scheduling has stopped, and administrators see other problems of the scheduler. */
function Banner({ isStaff }: { isStaff: boolean }) {
  const { data: status } = useQuery(schedulerStatusQuery);
  if (status === undefined) return null;
  const hasStopped = status.rounds.cause !== null;
  const hasProblem = isStaff && hasSchedulerProblem(status);
  if (!hasStopped && !hasProblem) return null;
  return (
    <Container size={1280} px={{ base: "md", md: "xl" }} pt="md">
      <Stack gap="xs">
        <RoundsAlert rounds={status.rounds} />
        {hasProblem && <SchedulerAlerts status={status} />}
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
    <Text component={Link} to="/" fw={700} size="lg" c="var(--mantine-color-text)" td="none">
      {t`MLHub`}
    </Text>
  );
}

/** Whether changes appear by themselves; otherwise of when the page is. */
function Liveness({ isConnected, staleSince }: StreamState) {
  const since = staleSince === null ? "" : t` since ${clock(staleSince)}`;
  return (
    <Badge
      size="sm"
      color={isConnected ? "teal" : "gray"}
      role="status"
      title={isConnected ? t`Changes appear automatically.` : t`Reconnecting: nothing was heard of the server${since}.`}
    >
      {isConnected ? t`Live` : t`Offline${since}`}
    </Badge>
  );
}

/** Keeps the place of the menus until they are there. */
function MenusLoading() {
  return <div className={classes.menus} />;
}
