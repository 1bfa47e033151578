// What is left of a page that failed while it was drawn.
import { useRouteError } from "react-router";

import { Page } from "@/components/layout/Page";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

export function RouteError() {
  const error = useRouteError();
  return (
    <Page title="This page failed">
      <ProblemAlert error={error} onRetry={() => window.location.reload()} />
    </Page>
  );
}
