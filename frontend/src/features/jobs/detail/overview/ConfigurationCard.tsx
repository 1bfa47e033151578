// What a job was asked to do, and what it does it on.
import type { Attempt, Job, JobDetail } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { SectionCard } from "@/components/layout/Section";
import { modeLabel } from "@/domain/mode";
import { factsOf, fallsWhenBetter, parameterList, shapeOf } from "@/features/jobs/format";
import { number } from "@/lib/quantities";
import { duration } from "@/lib/time";

export function ConfigurationCard({ job }: { job: JobDetail }) {
  const { dataset_version: data, model_version: model } = job;
  const facts: Fact[] = [
    ["Dataset", <TextLink key="d" to={`/datasets/${data.dataset.id}`}>{`${data.dataset.name} v${data.number}`}</TextLink>],
    ["Model", <TextLink key="m" to={`/models/${model.model.id}`}>{`${model.model.name} v${model.number}`}</TextLink>],
    ...(job.kind === "train" ? trained(job) : asked(job)),
    ["Workers allowed", `${job.min_workers} to ${job.max_workers}`],
    ["Priority", String(job.priority)],
  ];
  if (job.target_metric !== "") {
    const sign = fallsWhenBetter(job.target_metric) ? "≤" : "≥";
    const value = job.target_value === null ? "" : ` ${sign} ${number(job.target_value)}`;
    facts.push(["Target", `${job.target_metric}${value}`]);
  }
  if (factsOf(job.strategy).length > 0) {
    facts.push(["Strategy", parameterList(job.strategy)]);
  }
  if (factsOf(job.hyperparameters).length > 0) {
    facts.push(["Hyperparameters", parameterList(job.hyperparameters)]);
  }
  return (
    <SectionCard title="What was asked for">
      <Facts facts={facts} cols={2} />
    </SectionCard>
  );
}

function trained(job: JobDetail): Fact[] {
  return [
    ["Epochs", number(job.epochs)],
    ["Batch size", number(job.batch_size)],
    ["Mode asked for", modeLabel(job.mode)],
    ["Seed", String(job.seed)],
  ];
}

/** Of a job that does not train. */
function asked(job: JobDetail): Fact[] {
  const { features, examples } = job.prediction;
  const layers = Array.isArray(features) ? features.map(String) : [];
  const facts: Fact[] = [
    ["Question", job.kind === "evaluate" ? "Evaluate" : layers.length > 0 ? "Features" : "Predict"],
    ["Examples", examples === "held_out" ? "those held out" : "all"],
    ["Examples of a part", number(job.batch_size)],
  ];
  if (layers.length > 0) facts.push(["Layers", layers.join(", ")]);
  return facts;
}

export function ResourcesCard({ job }: { job: Job }) {
  const attempt = job.current_attempt;
  const facts: Fact[] = [
    ["Runs as", shapeOf(job)],
    ["Where", attempt === null || attempt.ended_at !== null ? "on no GPU now" : placement(attempt)],
    ["Submitted", <RelativeTime key="s" at={job.submitted_at} />],
    ["First step", <RelativeTime key="f" at={job.started_at} />],
    ["Waited", duration(job.waited_s)],
    [job.kind === "train" ? "Trained" : "Worked", duration(job.trained_s)],
    ["Completion time", duration(job.jct_s)],
  ];
  if (attempt !== null) facts.push(["Attempt", `#${attempt.number}`]);
  return (
    <SectionCard title="What it runs on">
      <Facts facts={facts} cols={2} />
    </SectionCard>
  );
}

/** "node-a: GPU 0, 1" and where servers run. */
function placement(attempt: Attempt): string {
  if (attempt.placement.length === 0) return "–";
  return attempt.placement
    .map(({ node, slots, n_servers }) => {
      const parts = [];
      if (slots.length > 0) parts.push(`GPU ${slots.join(", ")}`);
      if (n_servers > 0) parts.push(`${n_servers} server${n_servers === 1 ? "" : "s"}`);
      return `${node}: ${parts.join(" + ")}`;
    })
    .join("; ");
}
