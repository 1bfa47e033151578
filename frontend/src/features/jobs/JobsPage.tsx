// All jobs that the user may see, newest first, filtered by state and project; the filters live in the address.
import { Button, Group, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import { useProjects } from "@/api/session";
import { Empty } from "@/components/Empty";
import { Loading } from "@/components/Loading";
import { Page } from "@/components/Page";
import { Pager } from "@/components/Pager";
import { ProblemAlert } from "@/components/ProblemAlert";
import { JOB_STATES } from "@/components/StateBadge";

import { JobsList } from "./JobsList";
import { type JobFilters, jobsQuery } from "./queries";

const FILTERS = ["state", "project", "cursor"] as const;

export function JobsPage() {
  const [search, setSearch] = useSearchParams();
  const filters: JobFilters = {};
  for (const name of FILTERS) {
    const value = search.get(name);
    if (value !== null && value !== "") filters[name] = value;
  }
  const jobs = useQuery(jobsQuery(filters));

  /** A new filter starts at the first page again. */
  const filter = (name: "state" | "project", value: string) =>
    setSearch((known) => {
      known.delete("cursor");
      if (value === "") known.delete(name);
      else known.set(name, value);
      return known;
    });
  const turn = (cursor: string | undefined) =>
    setSearch((known) => {
      if (cursor === undefined) known.delete("cursor");
      else known.set("cursor", cursor);
      return known;
    });

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
      {jobs.isPending && <Loading />}
      <ProblemAlert error={jobs.error} onRetry={() => void jobs.refetch()} />
      {jobs.data?.results.length === 0 && <NoJobs isFiltered={Object.keys(filters).length > 0} />}
      {jobs.data !== undefined && jobs.data.results.length > 0 && <JobsList jobs={jobs.data.results} />}
      {jobs.data !== undefined && <Pager page={jobs.data} onCursor={turn} />}
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
      <Empty
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
    <Empty
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
