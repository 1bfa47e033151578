// An event of a job in words: what happened, and the details that a person wants to know.
import type { Event } from "@/api/types";
import { modeLabel } from "@/domain/mode";
import { factsOf, sizeOf } from "@/features/jobs/format";
import { duration } from "@/lib/time";

interface Told {
  what: string;
  details: string;
}

const PHASES: Record<string, string> = {
  gang_ready: "All pods are connected",
  resumed: "Resumed from its checkpoint",
  training: "First step",
  saving: "Saving a checkpoint",
  done: "The work is done",
};

const KINDS: Record<string, string> = {
  "job.submitted": "Submitted",
  "job.preflight_passed": "Tried out: model and data fit",
  "job.cancel_asked": "Asked to cancel",
  "job.pause_asked": "Asked to pause",
  "job.resume_asked": "Asked to resume",
};

export function describeEvent(event: Event): Told {
  const facts = event.facts;
  if (event.kind === "job.state") {
    return { what: `${word(facts["before"])} → ${word(facts["after"])}`, details: join(launched(facts), cause(facts)) };
  }
  if (event.kind === "attempt.phase") {
    const since = facts["since_start_s"];
    const step = facts["step"];
    return {
      what: PHASES[word(facts["phase"])] ?? word(facts["phase"]),
      details: join(
        `attempt ${word(facts["number"])}`,
        typeof step === "number" && step > 0 ? `step ${step}` : "",
        typeof since === "number" ? `${duration(since)} after its start` : "",
      ),
    };
  }
  if (event.kind === "attempt.stalled") {
    const { step, still_s: still, limit_s: limit } = facts;
    return {
      what: "Stands still",
      details: join(
        typeof step === "number" ? `step ${step}` : "",
        typeof still === "number" ? `no progress for ${duration(still)}` : "",
        `waits for ${word(facts["waited_for"])}`,
        typeof limit === "number" ? `ended after ${duration(limit)}` : "",
      ),
    };
  }
  if (event.kind === "attempt.server_returned") {
    const { server, signal, away_s: away, lost_s: lost, updates_lost: updates } = facts;
    return {
      what: `Server ${word(server)} died and came back`,
      details: join(
        word(signal),
        typeof away === "number" ? `away for ${away.toFixed(1)} s` : "",
        typeof updates === "number" ? `${updates} updates of its shard lost` : "",
        typeof lost === "number" && updates ? `of ${lost.toFixed(1)} s` : "",
      ),
    };
  }
  const known = KINDS[event.kind];
  if (known) return { what: known, details: "" };
  return { what: event.kind, details: join(...factsOf(facts).map(([name, value]) => `${name}: ${value}`)) };
}

/** What the scheduler gave, when it launched the job. */
function launched(facts: Event["facts"]): string {
  const { mode, n_workers: workers, n_servers: servers, nodes } = facts;
  if (mode !== "all_reduce" && mode !== "parameter_server") return "";
  if (typeof workers !== "number" || typeof servers !== "number") return "";
  const place = Array.isArray(nodes) ? ` on ${nodes.map(word).join(", ")}` : "";
  return `${modeLabel(mode)} · ${sizeOf({ n_workers: workers, n_servers: servers })}${place}`;
}

function cause(facts: Event["facts"]): string {
  const message = word(facts["message"]);
  return message || word(facts["reason"]).replaceAll("_", " ");
}

function word(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function join(...parts: string[]): string {
  return parts.filter(Boolean).join(" · ");
}
