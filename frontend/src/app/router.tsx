// SPDX-License-Identifier: Apache-2.0
// Which address shows which page. A page's code is loaded when it is first shown; the shell is there before.
import { t } from "@lingui/core/macro";
import type { RouteObject } from "react-router";

import { NotFound } from "@/app/NotFound";
import { RouteError } from "@/app/RouteError";
import { Shell } from "@/app/shell/Shell";
import { SignedIn } from "@/app/SignedIn";
import { Loading } from "@/components/feedback/Loading";
import { pageChunk } from "@/lib/chunk";

const pages: RouteObject[] = [
  { index: true, lazy: pageChunk("home", async () => (await import("@/features/home/HomePage")).HomePage) },
  { path: "jobs", lazy: pageChunk("jobs", async () => (await import("@/features/jobs/list/JobsPage")).JobsPage) },
  { path: "jobs/new", lazy: pageChunk("jobs", async () => (await import("@/features/jobs/new/NewJobPage")).NewJobPage) },
  { path: "jobs/:id/:tab?", lazy: pageChunk("jobs", async () => (await import("@/features/jobs/detail/JobPage")).JobPage) },
  { path: "compare", lazy: pageChunk("compare", async () => (await import("@/features/compare/ComparePage")).ComparePage) },
  { path: "datasets", lazy: pageChunk("datasets", async () => (await import("@/features/datasets/DatasetsPage")).DatasetsPage) },
  { path: "datasets/:id", lazy: pageChunk("datasets", async () => (await import("@/features/datasets/DatasetPage")).DatasetPage) },
  { path: "models", lazy: pageChunk("models", async () => (await import("@/features/models/ModelsPage")).ModelsPage) },
  { path: "models/:id", lazy: pageChunk("models", async () => (await import("@/features/models/ModelPage")).ModelPage) },
  { path: "environments", lazy: pageChunk("environments", async () => (await import("@/features/environments/EnvironmentsPage")).EnvironmentsPage) },
  { path: "studies", lazy: pageChunk("studies", async () => (await import("@/features/studies/StudiesPage")).StudiesPage) },
  { path: "studies/new", lazy: pageChunk("studies", async () => (await import("@/features/studies/NewStudyPage")).NewStudyPage) },
  { path: "studies/:id", lazy: pageChunk("studies", async () => (await import("@/features/studies/StudyPage")).StudyPage) },
  { path: "runs", lazy: pageChunk("runs", async () => (await import("@/features/runs/RunsPage")).RunsPage) },
  { path: "runs/:id", lazy: pageChunk("runs", async () => (await import("@/features/runs/RunPage")).RunPage) },
  { path: "queue", lazy: pageChunk("queue", async () => (await import("@/features/queue/QueuePage")).QueuePage) },
  { path: "scheduler", lazy: pageChunk("scheduler", async () => (await import("@/features/scheduler/SchedulerPage")).SchedulerPage) },
  { path: "scheduler/lab", lazy: pageChunk("scheduler", async () => (await import("@/features/scheduler/lab/pages")).LabPage) },
  { path: "scheduler/lab/:id", lazy: pageChunk("scheduler", async () => (await import("@/features/scheduler/lab/pages")).ReplayPage) },
  { path: "cluster", lazy: pageChunk("cluster", async () => (await import("@/features/cluster/ClusterPage")).ClusterPage) },
  { path: "cluster/timeline", lazy: pageChunk("cluster", async () => (await import("@/features/cluster/timeline/TimelinePage")).TimelinePage) },
  { path: "quotas", lazy: pageChunk("quotas", async () => (await import("@/features/quotas/QuotasPage")).QuotasPage) },
  { path: "usage", lazy: pageChunk("usage", async () => (await import("@/features/usage/UsagePage")).UsagePage) },
  { path: "members", lazy: pageChunk("members", async () => (await import("@/features/members/MembersPage")).MembersPage) },
  { path: "projects/:id/retention", lazy: pageChunk("retention", async () => (await import("@/features/retention/RetentionPage")).RetentionPage) },
  { path: "organisations/:id/retention", lazy: pageChunk("retention", async () => (await import("@/features/retention/OrganisationRetentionPage")).OrganisationRetentionPage) },
  { path: "projects/:id/roles", lazy: pageChunk("roles", async () => (await import("@/features/roles/RolesPage")).ProjectRolesPage) },
  { path: "teams/:id/roles", lazy: pageChunk("roles", async () => (await import("@/features/roles/RolesPage")).TeamRolesPage) },
  { path: "projects/:id/secrets", lazy: pageChunk("secrets", async () => (await import("@/features/secrets/SecretsPage")).SecretsPage) },
  { path: "webhooks", lazy: pageChunk("webhooks", async () => (await import("@/features/webhooks/WebhooksPage")).WebhooksPage) },
  { path: "platform", lazy: pageChunk("platform", async () => (await import("@/features/platform/PlatformPage")).PlatformPage) },
  { path: "users", lazy: pageChunk("users", async () => (await import("@/features/users/UsersPage")).UsersPage) },
  { path: "account", lazy: pageChunk("account", async () => (await import("@/features/account/AccountPage")).AccountPage) },
  { path: "audit", lazy: pageChunk("audit", async () => (await import("@/features/audit/AuditPage")).AuditPage) },
  { path: "tokens", lazy: pageChunk("tokens", async () => (await import("@/features/tokens/TokensPage")).TokensPage) },
  { path: "*", element: <NotFound /> },
];

/** The shell around `shown`: for everybody who is signed in. */
export function shellRoute(shown: RouteObject[]): RouteObject {
  return {
    path: "/",
    element: (
      <SignedIn>
        <Shell />
      </SignedIn>
    ),
    errorElement: <RouteError />,
    children: [
      {
        errorElement: <RouteError />,
        children: shown.map((page) => ({ hydrateFallbackElement: <Loading label={t`Loading the page`} />, ...page })),
      },
    ],
  };
}

/** A page of its own, for people who are not signed in. */
function openRoute(path: string, lazy: RouteObject["lazy"]): RouteObject {
  return {
    path,
    ...(lazy && { lazy }),
    hydrateFallbackElement: <Loading label={t`Loading the page`} />,
    errorElement: <RouteError />,
  };
}

export const routes: RouteObject[] = [
  openRoute("/sign-in", pageChunk("session", async () => (await import("@/features/session/SignInPage")).SignInPage)),
  openRoute("/sign-out", pageChunk("session", async () => (await import("@/features/session/signOut/SignOutPage")).SignOutPage)),
  openRoute("/set-password", pageChunk("session", async () => (await import("@/features/session/SetPasswordPage")).SetPasswordPage)),
  openRoute("/forgot-password", pageChunk("session", async () => (await import("@/features/session/ForgotPasswordPage")).ForgotPasswordPage)),
  openRoute("/join", pageChunk("session", async () => (await import("@/features/session/JoinPage")).JoinPage)),
  shellRoute(pages),
];
