// SPDX-License-Identifier: Apache-2.0
// The scheduler's page: settings that the API checks, the shadow, and predictions against what came.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { Insight, SchedulerChange, SchedulerSettings } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { costs } from "@/testing/schedulingFixtures";
import { answers, problem, server } from "@/testing/server";

const SETTINGS: SchedulerSettings = {
  policy: "mlhub",
  parameters: {},
  budget_s: 10,
  shadow_policy: "",
  shadow_parameters: {},
  version: 4,
  updated_at: "2026-03-02T09:00:00Z",
  policies: ["las", "mlhub"],
  known: [
    { name: "las", parameters: { limits: [3250, 7200] } },
    { name: "mlhub", parameters: { power: 0.75, last_stretch: 4, stickiness: 0.05, shares: true } },
  ],
};
const STARTED = { n_waited: 8, started_within_p90: 0.875 };
const NEVER_WAITED = { n_waited: 0, started_within_p90: null };
const INSIGHT: Insight = {
  calibration: [
    { moment: "submission", n: 40, within_p90: 0.9, median_error: 0.12, median_bias: -0.05, ...STARTED },
    { moment: "launch", n: 0, within_p90: null, median_error: null, median_bias: null, ...NEVER_WAITED },
  ],
  calibration_by_organisation: [
    { organisation: "vision lab", n: 30, within_p90: 0.7, median_error: 0.4, median_bias: 0.4, ...STARTED },
  ],
  calibration_by_cause: [
    { cause: "", n: 20, within_p90: 0.95, median_error: 0.1, median_bias: 0, ...NEVER_WAITED },
    { cause: "quota_gpus", n: 20, within_p90: 0.6, median_error: 0.5, median_bias: 0.5, ...STARTED },
  ],
  ends: [],
  costs: [{ job: { id: "00000000-0000-4000-8000-000000000001", name: "digits" }, ...costs() }],
  rounds: { n_rounds: 400, round_p50_ms: 41.6, round_p99_ms: 380, n_decisions: 720, oldest_pending_s: 5400 },
  shadow: {
    policy: "las",
    n_rounds: 20,
    n_failed: 1,
    n_decisions: 100,
    n_different: 7,
    decide_ms: 3,
    mean_finish_s: 120,
    real_mean_finish_s: 90,
    last_error: "las did not decide within 10 s.",
  },
};

describe("The scheduler's page", () => {
  beforeEach(() => {
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers("/api/v1/scheduler/settings", SETTINGS),
      answers("/api/v1/scheduler/insight", INSIGHT),
    );
  });

  it("sends parameters as numbers and lists, with the version that was seen", async () => {
    let sent: SchedulerChange | undefined;
    server.use(
      http.patch("/api/v1/scheduler/settings", async ({ request }) => {
        sent = (await request.json()) as SchedulerChange;
        return HttpResponse.json<SchedulerSettings>({ ...SETTINGS, version: 5 });
      }),
    );
    const { user } = renderPage("/scheduler");
    await user.type(await screen.findByLabelText("Policy: power"), "0.5");
    await user.selectOptions(screen.getByLabelText("Shadow policy"), "las");
    await user.type(screen.getByLabelText("Shadow policy: Limits of the queues (GPU-seconds) (limits)"), "[[100, 200]");
    await user.click(screen.getByLabelText("Fair sharing between organisations"));
    await user.clear(screen.getByLabelText("Half-life of usage, hours"));
    await user.type(screen.getByLabelText("Half-life of usage, hours"), "24");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(await screen.findByText("The scheduler's settings are saved.")).toBeVisible();
    expect(sent).toEqual({
      policy: "mlhub",
      parameters: { power: 0.5 },
      budget_s: 10,
      shadow_policy: "las",
      shadow_parameters: { limits: [100, 200] },
      shares_fairly: true,
      half_life_s: 86_400,
      version: 4,
    });
  });

  it("says how fast the last hour's rounds were, and how old the queue is", async () => {
    renderPage("/scheduler");
    const region = within(await screen.findByRole("region", { name: "Scheduling rounds of the last hour" }));
    const shown = region.getAllByRole("definition").map((value) => value.textContent);
    expect(shown).toEqual(["42 ms", "380 ms", "720", "0.2", "1 h 30 min"]);
  });

  it("says what a restart of each family costs, how sure that is and on how much it rests", async () => {
    renderPage("/scheduler");
    const table = within(await screen.findByRole("table", { name: "Costs of a restart" }));
    expect(table.getByRole("link", { name: "digits" })).toBeVisible();
    expect(table.getAllByText("31 s ± 4 s (7 observations)")).toHaveLength(2);
  });

  it("shows whose predictions fail, and what these jobs waited for", async () => {
    renderPage("/scheduler");
    const tenants = within(await screen.findByRole("table", { name: "Calibration by organisation" }));
    expect(tenants.getByRole("row", { name: /vision lab 30 70 % 40 % 40 % longer 88 % of 8/ })).toBeVisible();
    const causes = within(screen.getByRole("table", { name: "Calibration by cause of waiting" }));
    expect(causes.getByRole("row", { name: /quota of GPUs 20 60 %/ })).toBeVisible();
    expect(causes.getByRole("row", { name: /nothing: started at once 20 95 % 10 % 0 % longer –/ })).toBeVisible();
  });

  it("says what a policy and its parameters do, and lets one choose where there are two values", async () => {
    let sent: SchedulerChange | undefined;
    server.use(
      http.patch("/api/v1/scheduler/settings", async ({ request }) => {
        sent = (await request.json()) as SchedulerChange;
        return HttpResponse.json<SchedulerSettings>({ ...SETTINGS, version: 5 });
      }),
    );
    const { user } = renderPage("/scheduler");
    expect(await screen.findByLabelText("Policy")).toHaveAccessibleDescription(/GPUs go where they shorten the average completion time most/);
    const stay = screen.getByLabelText("Policy: Preference for the present size (stickiness)");
    expect(stay).toHaveAccessibleDescription(/What keeping a size is worth by itself.* 0 or more\./);
    const end = screen.getByLabelText("Policy: Protected end (restarts) (last_stretch)");
    expect(end).toHaveAccessibleDescription(/sooner than so many restarts take is neither resized nor preempted\./);
    const shares = screen.getByLabelText("Policy: Jobs share GPUs (shares)");
    expect(shares).toHaveDisplayValue("Default: Yes");
    await user.selectOptions(shares, "No");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await expect.poll(() => sent?.parameters).toEqual({ shares: false });
  });

  it("says at the parameter what is wrong with it", async () => {
    const message = "parameter 'power' of policy 'mlhub' must be like 0.75, not 'much'";
    server.use(
      http.patch("/api/v1/scheduler/settings", () =>
        problem(422, { detail: message, errors: [{ field: "parameters.power", message }] }),
      ),
    );
    const { user } = renderPage("/scheduler");
    const input = await screen.findByLabelText("Policy: power");
    await user.type(input, "much");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(await screen.findByText(message, { selector: "p.mantine-InputWrapper-error" })).toBeVisible();
    expect(input).toBeInvalid();
  });

  it("shows what the shadow would have done and how predictions came true", async () => {
    renderPage("/scheduler");
    const shadow = await screen.findByRole("region", { name: "Shadow policy las" });
    expect(shadow).toHaveTextContent("7 of 100 (7 %)");
    expect(shadow).toHaveTextContent("las did not decide within 10 s.");
    const row = within(screen.getByRole("table", { name: "Calibration" })).getByRole("row", { name: /At submission/ });
    expect(row).toHaveTextContent("4090 %12 %5 % shorter");
  });

  it("is for administrators", async () => {
    server.use(answers("/api/v1/auth/me", me()));
    renderPage("/scheduler");
    expect(await screen.findByText("This page is for administrators")).toBeVisible();
    expect(screen.queryByRole("link", { name: "Scheduler" })).not.toBeInTheDocument();
  });
});
