// SPDX-License-Identifier: Apache-2.0
// The frame around the pages: navigation at the left (behind a burger on a phone), the user's menu, the page.
import { AppShell, Badge, Burger, Container, Group, NavLink, Progress, Stack, Text, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigation } from "react-router";

import { schedulerStatusQuery } from "@/api/scheduler";
import type { StreamState } from "@/api/stream";
import { isAdminSomewhere, isStaff, useMe } from "@/api/session";
import type { Me } from "@/api/types";
import { ThemeToggle } from "@/app/ThemeToggle";
import { UserMenu } from "@/app/UserMenu";
import { useLiveQueries } from "@/app/useLiveQueries";
import { Icon, type IconName } from "@/components/display/Icon";
import { RoundsAlert } from "@/components/feedback/RoundsAlert";
import { SchedulerAlerts, hasSchedulerProblem } from "@/components/feedback/SchedulerAlerts";
import { clock } from "@/lib/time";

interface Place {
  to: string;
  label: string;
  icon: IconName;
  isForStaff?: boolean;
  isForAdmins?: boolean;
}

const PLACES: Place[] = [
  { to: "/jobs", label: "Jobs", icon: "jobs" },
  { to: "/datasets", label: "Datasets", icon: "dataset" },
  { to: "/models", label: "Models", icon: "model" },
  { to: "/queue", label: "Queue", icon: "queue" },
  { to: "/cluster", label: "Cluster", icon: "cluster" },
  { to: "/quotas", label: "Quotas", icon: "quota" },
  { to: "/usage", label: "Usage", icon: "usage" },
  { to: "/scheduler", label: "Scheduler", icon: "scheduler", isForStaff: true },
  { to: "/members", label: "Members", icon: "user" },
  { to: "/users", label: "Users", icon: "user", isForStaff: true },
  { to: "/audit", label: "Audit", icon: "file", isForAdmins: true },
  { to: "/tokens", label: "API tokens", icon: "token" },
];

/** Pages that are of no use to others are not offered; what one may see, the API decides. */
function isFor(me: Me, { isForStaff = false, isForAdmins = false }: Place): boolean {
  return (!isForStaff || isStaff(me)) && (!isForAdmins || isAdminSomewhere(me));
}

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  const stream = useLiveQueries();
  const me = useMe();

  return (
    <>
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <AppShell
        header={{ height: { base: 52, sm: 0 } }}
        navbar={{ width: 216, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      >
        <AppShell.Header hiddenFrom="sm">
          <Group h="100%" px="md" justify="space-between">
            <Group gap="sm">
              <Burger
                opened={isOpen}
                onClick={toggle}
                size="sm"
                aria-label={isOpen ? "Close the navigation" : "Open the navigation"}
              />
              <Brand />
            </Group>
            <Liveness {...stream} />
          </Group>
        </AppShell.Header>

        <AppShell.Navbar p="xs" aria-label="Main" className="main-navigation" data-open={isOpen || undefined}>
          <Group px="sm" py="xs" justify="space-between" visibleFrom="sm" wrap="nowrap">
            <Brand />
            <Liveness {...stream} />
          </Group>
          <Stack gap={2} flex={1} mt="xs">
            {PLACES.filter((place) => isFor(me, place)).map(({ to, label, icon }) => (
              <NavLink
                key={to}
                component={Link}
                to={to}
                label={label}
                leftSection={<Icon name={icon} />}
                active={isAt(pathname, to)}
                aria-current={isAt(pathname, to) ? "page" : undefined}
                onClick={close}
                style={{ borderRadius: "var(--mantine-radius-md)" }}
              />
            ))}
          </Stack>
          <Group justify="space-between" wrap="nowrap" gap="xs">
            <UserMenu />
            <ThemeToggle />
          </Group>
        </AppShell.Navbar>

        <PageLoading />
        <AppShell.Main id="content" tabIndex={-1} style={{ outline: "none" }}>
          <Banner isStaff={isStaff(me)} />
          <Outlet />
        </AppShell.Main>
      </AppShell>
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
      <Progress.Section value={100} animated aria-label="Loading the page" />
    </Progress.Root>
  );
}

function Brand() {
  return (
    <Text component={Link} to="/jobs" fw={700} size="lg" c="var(--mantine-color-text)" td="none">
      MLHub
    </Text>
  );
}

/** Whether changes appear by themselves; otherwise of when the page is. */
function Liveness({ isConnected, staleSince }: StreamState) {
  const since = staleSince === null ? "" : ` since ${clock(staleSince)}`;
  return (
    <Tooltip
      label={isConnected ? "Changes appear automatically." : `Reconnecting: nothing was heard of the server${since}.`}
    >
      <Badge size="sm" color={isConnected ? "teal" : "gray"} role="status">
        {isConnected ? "Live" : `Offline${since}`}
      </Badge>
    </Tooltip>
  );
}

function isAt(pathname: string, place: string): boolean {
  return pathname === place || pathname.startsWith(`${place}/`);
}
