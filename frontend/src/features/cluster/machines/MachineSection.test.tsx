// SPDX-License-Identifier: Apache-2.0
// Machines with an agent: administrators add one, see how each is, replace a token and remove one.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Agent, Cluster } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster } from "@/testing/schedulingFixtures";
import { answers, server } from "@/testing/server";

const AT = "2026-03-02T09:00:00Z";

function agent(over: Partial<Agent>): Agent {
  const base = { name: "lab-1", is_own: false, state: "connected", token_made_at: AT, made_by: "root", seen_at: AT } as const;
  return { ...base, address: "10.0.0.2", version: "0.2.0", problem: "", ...over };
}

/** Of the backend of agents, as an administrator sees it. Returns what was asked for. */
function platform(agents: Agent[], over: Partial<Cluster> = {}) {
  const asked: unknown[] = [];
  const backend = { name: "agents", away_since: null, message: "" };
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    answers("/api/v1/cluster", { ...cluster({ backend }), ...over }),
    answers("/api/v1/agents", { results: agents, version: "0.2.0", takeover_s: 37, ends_within_s: 51 }),
    http.post("/api/v1/agents", async ({ request }) => {
      const body = (await request.json()) as { name: string };
      asked.push(body);
      return HttpResponse.json({ agent: agent({ name: body.name, state: "expected", seen_at: null }), token: `mlg_${body.name}_secret` }, { status: 201 });
    }),
    http.delete("/api/v1/agents/:name", ({ params }) => {
      asked.push({ removed: params.name });
      return new HttpResponse(null, { status: 204 });
    }),
  );
  return asked;
}

describe("Machines with an agent", () => {
  it("are added with one command, which is shown once", async () => {
    const asked = platform([]);
    const { user } = renderPage("/cluster");
    await user.click(await screen.findByRole("button", { name: "Add a machine" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText(/^Name/), "lab-2");
    await user.click(dialog.getByRole("button", { name: "Make its token" }));
    const command = `MLHUB_AGENT_TOKEN=mlg_lab-2_secret mlhub agent run --server ${window.location.origin}`;
    expect(await dialog.findByText(command)).toBeVisible();
    expect(asked).toEqual([{ name: "lab-2", must_be_new: true }]);
    expect(dialog.getByText(/leads to this machine alone/)).toBeVisible();
    expect(dialog.getByText(/MLHub 0.2.0 has to be installed there/)).toBeVisible();
    await user.click(dialog.getByRole("button", { name: "Copy" }));
    expect(await navigator.clipboard.readText()).toBe(command);
    await user.click(dialog.getByRole("button", { name: "I have it" }));
    await waitFor(() => expect(screen.queryByText(command)).not.toBeInTheDocument());
  });

  it("that are there already keep their token", async () => {
    platform([agent({})]);
    const problem = { type: "about:blank", title: "Conflict", status: 409, code: "agent_exists", detail: "There is an agent lab-1 already.", remedy: "Choose another name." };
    server.use(http.post("/api/v1/agents", () => HttpResponse.json(problem, { status: 409, headers: { "Content-Type": "application/problem+json" } })));
    const { user } = renderPage("/cluster");
    await user.click(await screen.findByRole("button", { name: "Add a machine" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText(/^Name/), "lab-1");
    await user.click(dialog.getByRole("button", { name: "Make its token" }));
    expect(await dialog.findByRole("alert")).toHaveTextContent("There is an agent lab-1 already.");
  });

  it("say how they are, and what to do", async () => {
    platform([
      agent({ name: "a-own", is_own: true }),
      agent({ name: "b-closed", state: "closed", problem: "The folder of checkpoints /srv is not there." }),
      agent({ name: "c-silent", state: "silent" }),
      agent({ name: "d-lost", state: "lost" }),
      agent({ name: "e-new", state: "expected", seen_at: null, address: "", version: "" }),
    ]);
    renderPage("/cluster");
    const [, ...rows] = within(await screen.findByRole("table", { name: "Machines" })).getAllByRole("row");
    const [own, closed, silent, lost, expected] = rows;
    expect(own).toHaveTextContent("The platform's own machine");
    expect(own && within(own).queryByRole("button")).not.toBeInTheDocument();
    expect(closed).toHaveTextContent("ClosedThe folder of checkpoints /srv is not there.");
    expect(silent).toHaveTextContent("SilentIt gets no new jobs until it reports again.");
    expect(lost).toHaveTextContent("mlhub agent run");
    expect(expected).toHaveTextContent("Never");
  });

  it("are removed after the jobs that run there were named", async () => {
    const asked = platform([agent({ name: "node-a" })]);
    const { user } = renderPage("/cluster");
    await user.click(await screen.findByRole("button", { name: "Remove node-a" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByRole("link", { name: "digits-cnn" })).toBeVisible();
    expect(dialog.getByText(/for up to 51 s/)).toBeVisible();
    expect(dialog.getByText(/The agent.s folder stays on the machine/)).toBeVisible();
    expect(asked).toEqual([]);
    await user.click(dialog.getByRole("button", { name: "Remove" }));
    await waitFor(() => expect(asked).toEqual([{ removed: "node-a" }]));
  });

  it("get a new token after it was said what that costs", async () => {
    const asked = platform([agent({})]);
    const { user } = renderPage("/cluster");
    await user.click(await screen.findByRole("button", { name: "New token for lab-1" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/within 37 s/)).toBeVisible();
    await user.click(dialog.getByRole("button", { name: "Replace the token" }));
    expect(await dialog.findByText(/mlg_lab-1_secret/)).toBeVisible();
    expect(asked).toEqual([{ name: "lab-1", must_be_new: false }]);
  });

  it("are the next step of an empty cluster", async () => {
    platform([], { racks: [] });
    renderPage("/cluster");
    expect(await screen.findByText(/it becomes a node as soon as its agent runs/)).toBeVisible();
    expect((await screen.findAllByRole("button", { name: "Add a machine" })).length).toBeGreaterThan(0);
  });

  it("are not shown to others, nor with another backend", async () => {
    platform([agent({})]);
    server.use(answers("/api/v1/auth/me", me({ is_staff: false })));
    renderPage("/cluster");
    expect(await screen.findByRole("article", { name: "Node node-a" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Add a machine" })).not.toBeInTheDocument();
  });
});
