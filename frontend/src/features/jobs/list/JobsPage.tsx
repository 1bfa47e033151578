// SPDX-License-Identifier: Apache-2.0
// All jobs that the user may see, newest first, filtered by state and project; the filters live in the address.
import { Button, Group, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { useProjects } from "@/api/session";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { Pager } from "@/components/table/Pager";
import { useFilters } from "@/components/table/useFilters";
import { JOB_STATES } from "@/domain/jobState";
import { type JobFilters, jobsQuery } from "@/features/jobs/queries";

import { JobsList } from "./JobsList";

export function JobsPage() {
  const { filters, filter, turn } = useFilters(["state", "project"]);
  const jobs = useQuery(jobsQuery(filters));
  return (
    <Page
      title="Jobs"
      actions={
        <Button component={Link} to="/jobs/new">
          New job
        </Button>
      }
    >
      <Filters filters={filters} onChange={filter} />
      <QueryResult of={jobs}>
        {(page) => (
          <>
            {page.results.length === 0 ? (
              <NoJobs isFiltered={Object.keys(filters).length > 0} />
            ) : (
              <JobsList jobs={page.results} />
            )}
            <Pager page={page} onCursor={turn} />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

interface FiltersProps {
  filters: JobFilters;
  onChange: (name: "state" | "project", value: string) => void;
}

function Filters({ filters, onChange }: FiltersProps) {
  const projects = useProjects();
  return (
    <Group gap="sm" align="end">
      <NativeSelect
        size="xs"
        label="State"
        value={filters.state ?? ""}
        onChange={(event) => onChange("state", event.currentTarget.value)}
        data={[
          { value: "", label: "All states" },
          ...Object.entries(JOB_STATES).map(([value, { label }]) => ({ value, label })),
        ]}
      />
      <NativeSelect
        size="xs"
        label="Project"
        value={filters.project ?? ""}
        onChange={(event) => onChange("project", event.currentTarget.value)}
        data={[
          { value: "", label: "All projects" },
          ...projects.map((project) => ({
            value: project.id,
            label: `${project.organisation.name} / ${project.name}`,
          })),
        ]}
      />
    </Group>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState
        title="No jobs match"
        text="No job has this state in this project."
        action={
          <Button variant="default" component={Link} to="/jobs">
            Show all jobs
          </Button>
        }
      />
    );
  }
  return (
    <EmptyState
      title="No jobs yet"
      text="First upload a dataset. Then start a job with it and one of the built-in models, or upload your own."
      action={
        <Group justify="center">
          <Button component={Link} to="/datasets">
            Upload a dataset
          </Button>
          <Button variant="default" component={Link} to="/jobs/new">
            New job
          </Button>
        </Group>
      }
    />
  );
}
