// Which address shows which page.
import { Navigate, type RouteObject } from "react-router";

import { NotFound } from "@/app/NotFound";
import { RouteError } from "@/app/RouteError";
import { Shell } from "@/app/Shell";
import { SignedIn } from "@/app/SignedIn";
import { ClusterPage } from "@/features/cluster/ClusterPage";
import { DatasetPage } from "@/features/datasets/DatasetPage";
import { DatasetsPage } from "@/features/datasets/DatasetsPage";
import { JobPage } from "@/features/jobs/detail/JobPage";
import { JobsPage } from "@/features/jobs/list/JobsPage";
import { NewJobPage } from "@/features/jobs/new/NewJobPage";
import { ModelPage } from "@/features/models/ModelPage";
import { ModelsPage } from "@/features/models/ModelsPage";
import { QueuePage } from "@/features/queue/QueuePage";
import { QuotasPage } from "@/features/quotas/QuotasPage";
import { SchedulerPage } from "@/features/scheduler/SchedulerPage";
import { SignInPage } from "@/features/session/SignInPage";
import { TokensPage } from "@/features/tokens/TokensPage";

const pages: RouteObject[] = [
  { index: true, element: <Navigate to="/jobs" replace /> },
  { path: "jobs", element: <JobsPage /> },
  { path: "jobs/new", element: <NewJobPage /> },
  { path: "jobs/:id", element: <JobPage /> },
  { path: "datasets", element: <DatasetsPage /> },
  { path: "datasets/:id", element: <DatasetPage /> },
  { path: "models", element: <ModelsPage /> },
  { path: "models/:id", element: <ModelPage /> },
  { path: "queue", element: <QueuePage /> },
  { path: "scheduler", element: <SchedulerPage /> },
  { path: "cluster", element: <ClusterPage /> },
  { path: "quotas", element: <QuotasPage /> },
  { path: "tokens", element: <TokensPage /> },
  { path: "*", element: <NotFound /> },
];

export const routes: RouteObject[] = [
  { path: "/sign-in", element: <SignInPage />, errorElement: <RouteError /> },
  {
    path: "/",
    element: (
      <SignedIn>
        <Shell />
      </SignedIn>
    ),
    errorElement: <RouteError />,
    children: [{ errorElement: <RouteError />, children: pages }],
  },
];
