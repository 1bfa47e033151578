// SPDX-License-Identifier: Apache-2.0
// Which address shows which page. A page's code is loaded when it is first shown; the shell is there before.
import { Navigate, type RouteObject } from "react-router";

import { NotFound } from "@/app/NotFound";
import { RouteError } from "@/app/RouteError";
import { Shell } from "@/app/Shell";
import { SignedIn } from "@/app/SignedIn";
import { Loading } from "@/components/feedback/Loading";
import { pageChunk } from "@/lib/chunk";

const pages: RouteObject[] = [
  { index: true, element: <Navigate to="/jobs" replace /> },
  { path: "jobs", lazy: pageChunk(async () => (await import("@/features/jobs/list/JobsPage")).JobsPage) },
  { path: "jobs/new", lazy: pageChunk(async () => (await import("@/features/jobs/new/NewJobPage")).NewJobPage) },
  { path: "jobs/:id", lazy: pageChunk(async () => (await import("@/features/jobs/detail/JobPage")).JobPage) },
  { path: "datasets", lazy: pageChunk(async () => (await import("@/features/datasets/DatasetsPage")).DatasetsPage) },
  { path: "datasets/:id", lazy: pageChunk(async () => (await import("@/features/datasets/DatasetPage")).DatasetPage) },
  { path: "models", lazy: pageChunk(async () => (await import("@/features/models/ModelsPage")).ModelsPage) },
  { path: "models/:id", lazy: pageChunk(async () => (await import("@/features/models/ModelPage")).ModelPage) },
  { path: "queue", lazy: pageChunk(async () => (await import("@/features/queue/QueuePage")).QueuePage) },
  { path: "scheduler", lazy: pageChunk(async () => (await import("@/features/scheduler/SchedulerPage")).SchedulerPage) },
  { path: "cluster", lazy: pageChunk(async () => (await import("@/features/cluster/ClusterPage")).ClusterPage) },
  { path: "quotas", lazy: pageChunk(async () => (await import("@/features/quotas/QuotasPage")).QuotasPage) },
  { path: "usage", lazy: pageChunk(async () => (await import("@/features/usage/UsagePage")).UsagePage) },
  { path: "members", lazy: pageChunk(async () => (await import("@/features/members/MembersPage")).MembersPage) },
  { path: "users", lazy: pageChunk(async () => (await import("@/features/users/UsersPage")).UsersPage) },
  { path: "account", lazy: pageChunk(async () => (await import("@/features/account/AccountPage")).AccountPage) },
  { path: "audit", lazy: pageChunk(async () => (await import("@/features/audit/AuditPage")).AuditPage) },
  { path: "tokens", lazy: pageChunk(async () => (await import("@/features/tokens/TokensPage")).TokensPage) },
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
        children: shown.map((page) => ({ hydrateFallbackElement: <Loading label="Loading the page" />, ...page })),
      },
    ],
  };
}

/** A page of its own, for people who are not signed in. */
function openRoute(path: string, lazy: RouteObject["lazy"]): RouteObject {
  return {
    path,
    ...(lazy && { lazy }),
    hydrateFallbackElement: <Loading label="Loading the page" />,
    errorElement: <RouteError />,
  };
}

export const routes: RouteObject[] = [
  openRoute("/sign-in", pageChunk(async () => (await import("@/features/session/SignInPage")).SignInPage)),
  openRoute("/set-password", pageChunk(async () => (await import("@/features/session/SetPasswordPage")).SetPasswordPage)),
  openRoute("/join", pageChunk(async () => (await import("@/features/session/JoinPage")).JoinPage)),
  shellRoute(pages),
];
