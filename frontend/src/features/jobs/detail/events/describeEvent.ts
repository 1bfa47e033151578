// SPDX-License-Identifier: Apache-2.0
// An event of a job as text: what happened, and its details.
import { t } from "@lingui/core/macro";

import type { Event } from "@/api/types";
import { causeLabel } from "@/domain/failureCause";
import { stateLabel } from "@/domain/states/jobState";
import { modeLabel } from "@/domain/mode";
import { factsOf, sizeOf } from "@/features/jobs/format";
import { duration } from "@/lib/time";

interface EventText {
  what: string;
  details: string;
}

const PHASES: Record<string, string> = {
  gang_ready: t`All pods are connected`,
  resumed: t`Resumed from its checkpoint`,
  training: t`First step`,
  saving: t`Saving a checkpoint`,
  done: t`Finished`,
};

const KINDS: Record<string, string> = {
  "job.submitted": t`Submitted`,
  "job.preflight_passed": t`Validated: model and data fit`,
  "job.cancel_asked": t`Cancellation requested`,
  "job.pause_asked": t`Pause requested`,
  "job.resume_asked": t`Resume requested`,
  "notebook.opened": t`Notebook opened`,
  "notebook.idle": t`Nothing is done in the notebook: it will be paused`,
  "notebook.reclaimed": t`Nothing was done in the notebook: it is paused`,
  "notebook.silent": t`JupyterLab did not answer: the notebook is paused`,
  "job.changed": t`Request changed`,
  "job.annotated": t`Tags or notes changed`,
  "job.profile_asked": t`Profile requested`,
  "job.profile_deleted": t`Profile deleted`,
  "job.checkpoint_pinned": t`Checkpoint pinned`,
  "job.checkpoint_unpinned": t`Checkpoint unpinned`,
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
        typeof since === "number" ? t`${duration(since)} after its start` : "",
      ),
    };
  }
  if (event.kind === "attempt.stalled") {
    const { step, still_s: still, limit_s: limit } = facts;
    return {
      what: t`No progress`,
      details: join(
        typeof step === "number" ? `step ${step}` : "",
        typeof still === "number" ? `for ${duration(still)}` : "",
        t`waiting for ${text(facts["waited_for"])}`,
        typeof limit === "number" ? t`ended after ${duration(limit)}` : "",
      ),
    };
  }
  if (event.kind === "attempt.batch_changed") {
    const { step, was, batch_size: batch, learning_rate_factor: factor, reason } = facts;
    return {
      what: t`Batch size ${text(was)} → ${text(batch)}`,
      details: join(
        typeof step === "number" ? `step ${step}` : "",
        typeof factor === "number" ? t`learning rate × ${factor.toFixed(2)}` : "",
        text(reason),
      ),
    };
  }
  if (event.kind === "attempt.server_returned") {
    const { server, signal, away_s: away, lost_s: lost, updates_lost: updates } = facts;
    return {
      what: t`Server ${text(server)} failed and restarted`,
      details: join(
        text(signal),
        typeof away === "number" ? t`away for ${away.toFixed(1)} s` : "",
        typeof updates === "number" ? t`${updates} updates of its shard lost` : "",
        typeof lost === "number" && updates ? t`of ${lost.toFixed(1)} s` : "",
      ),
    };
  }
  if (event.kind === "job.preflight_passed" && facts["validated_by"] !== undefined) {
    return { what: t`Validated earlier: same content and settings`, details: t`by job ${text(facts["validated_by"])}` };
  }
  if (event.kind === "job.checkpoints_deleted") {
    const steps = Array.isArray(facts["steps"]) ? facts["steps"].map(text).join(", ") : "";
    return { what: t`Checkpoints deleted`, details: steps && t`of the steps ${steps}` };
  }
  const known = KINDS[event.kind];
  if (known) return { what: known, details: event.kind.startsWith("job.checkpoint") ? t`step ${text(facts["step"])}` : "" };
  return { what: event.kind, details: join(...factsOf(facts).map(([name, value]) => `${name}: ${value}`)) };
}

/** The size and the nodes, of a launch. */
function launched(facts: Event["facts"]): string {
  const { mode, n_workers: workers, n_servers: servers, nodes } = facts;
  if (mode !== "all_reduce" && mode !== "parameter_server") return "";
  if (typeof workers !== "number" || typeof servers !== "number") return "";
  const place = Array.isArray(nodes) ? t` on ${nodes.map(text).join(", ")}` : "";
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
