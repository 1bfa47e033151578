// SPDX-License-Identifier: Apache-2.0
// An event of a job as text: what happened, and its details.
import type { Event } from "@/api/types";
import { causeLabel } from "@/domain/failureCause";
import { stateLabel } from "@/domain/jobState";
import { modeLabel } from "@/domain/mode";
import { factsOf, sizeOf } from "@/features/jobs/format";
import { duration } from "@/lib/time";

interface EventText {
  what: string;
  details: string;
}

const PHASES: Record<string, string> = {
  gang_ready: "All pods are connected",
  resumed: "Resumed from its checkpoint",
  training: "First step",
  saving: "Saving a checkpoint",
  done: "Finished",
};

const KINDS: Record<string, string> = {
  "job.submitted": "Submitted",
  "job.preflight_passed": "Validated: model and data fit",
  "job.cancel_asked": "Cancellation requested",
  "job.pause_asked": "Pause requested",
  "job.resume_asked": "Resume requested",
  "notebook.opened": "Notebook opened",
  "notebook.idle": "Nothing is done in the notebook: it will be paused",
  "notebook.reclaimed": "Nothing was done in the notebook: it is paused",
  "notebook.silent": "JupyterLab did not answer: the notebook is paused",
  "job.changed": "Request changed",
  "job.annotated": "Tags or notes changed",
  "job.checkpoint_pinned": "Checkpoint pinned",
  "job.checkpoint_unpinned": "Checkpoint unpinned",
};

export function describeEvent(event: Event): EventText {
  const facts = event.facts;
  if (event.kind === "job.state") {
    return { what: `${stateLabel(text(facts["before"]))} → ${stateLabel(text(facts["after"]))}`, details: join(launched(facts), cause(facts)) };
  }
  if (event.kind === "attempt.phase") {
    const since = facts["since_start_s"];
    const step = facts["step"];
    return {
      what: PHASES[text(facts["phase"])] ?? text(facts["phase"]),
      details: join(
        `attempt ${text(facts["number"])}`,
        typeof step === "number" && step > 0 ? `step ${step}` : "",
        typeof since === "number" ? `${duration(since)} after its start` : "",
      ),
    };
  }
  if (event.kind === "attempt.stalled") {
    const { step, still_s: still, limit_s: limit } = facts;
    return {
      what: "No progress",
      details: join(
        typeof step === "number" ? `step ${step}` : "",
        typeof still === "number" ? `for ${duration(still)}` : "",
        `waiting for ${text(facts["waited_for"])}`,
        typeof limit === "number" ? `ended after ${duration(limit)}` : "",
      ),
    };
  }
  if (event.kind === "attempt.batch_changed") {
    const { step, was, batch_size: batch, learning_rate_factor: factor, reason } = facts;
    return {
      what: `Batch size ${text(was)} → ${text(batch)}`,
      details: join(
        typeof step === "number" ? `step ${step}` : "",
        typeof factor === "number" ? `learning rate × ${factor.toFixed(2)}` : "",
        text(reason),
      ),
    };
  }
  if (event.kind === "attempt.server_returned") {
    const { server, signal, away_s: away, lost_s: lost, updates_lost: updates } = facts;
    return {
      what: `Server ${text(server)} failed and restarted`,
      details: join(
        text(signal),
        typeof away === "number" ? `away for ${away.toFixed(1)} s` : "",
        typeof updates === "number" ? `${updates} updates of its shard lost` : "",
        typeof lost === "number" && updates ? `of ${lost.toFixed(1)} s` : "",
      ),
    };
  }
  if (event.kind === "job.preflight_passed" && facts["validated_by"] !== undefined) {
    return { what: "Validated earlier: same content and settings", details: `by job ${text(facts["validated_by"])}` };
  }
  if (event.kind === "job.checkpoints_deleted") {
    const steps = Array.isArray(facts["steps"]) ? facts["steps"].map(text).join(", ") : "";
    return { what: "Checkpoints deleted", details: steps && `of the steps ${steps}` };
  }
  const known = KINDS[event.kind];
  if (known) return { what: known, details: event.kind.startsWith("job.checkpoint") ? `step ${text(facts["step"])}` : "" };
  return { what: event.kind, details: join(...factsOf(facts).map(([name, value]) => `${name}: ${value}`)) };
}

/** The size and the nodes, of a launch. */
function launched(facts: Event["facts"]): string {
  const { mode, n_workers: workers, n_servers: servers, nodes } = facts;
  if (mode !== "all_reduce" && mode !== "parameter_server") return "";
  if (typeof workers !== "number" || typeof servers !== "number") return "";
  const place = Array.isArray(nodes) ? ` on ${nodes.map(text).join(", ")}` : "";
  return `${modeLabel(mode)} · ${sizeOf({ n_workers: workers, n_servers: servers })}${place}`;
}

function cause(facts: Event["facts"]): string {
  const message = text(facts["message"]);
  return message || causeLabel(text(facts["reason"]));
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function join(...parts: string[]): string {
  return parts.filter(Boolean).join(" · ");
}
