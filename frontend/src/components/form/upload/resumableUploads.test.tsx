// SPDX-License-Identifier: Apache-2.0
// A large file goes in pieces: it can be paused, and goes on after a reload with what has arrived.
import { screen, waitFor, within } from "@testing-library/react";
import type { UserEvent } from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { Dataset, ResumableUpload } from "@/api/types";
import { begunUploads, fingerprint, rememberUpload } from "@/lib/begunUploads";
import { dataset, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const MIB = 2 ** 20;
const ID = "01a20794-ec3a-7e2c-b0af-c1653e1a2b29";
const FILE = new File([new Uint8Array(9 * MIB)], "digits.csv", { type: "text/csv", lastModified: 1 });

/** An upload of the platform: pieces that came as [offset, bytes], and whether it is still there. */
class FakeUpload {
  offset = 0;
  pieces: [number, number][] = [];
  nBegun = 0;
  isRemoved = false;
  /** Before one that is begun is answered. */
  holdBegun: () => Promise<void> = () => Promise.resolve();
  /** Before a piece is answered. */
  hold: () => Promise<void> = () => Promise.resolve();

  handlers() {
    const address = `/api/v1/uploads/${ID}`;
    return [
      http.post("/api/v1/uploads", async () => {
        this.nBegun += 1;
        await this.holdBegun();
        this.isRemoved = false;
        return this.answer(201, { Location: address });
      }),
      http.head(address, () => this.isRemoved ? this.answer(404, {}) : this.answer(200, { "Upload-Offset": `${this.offset}`, "Upload-Length": `${FILE.size}` })),
      http.patch(address, async ({ request }) => {
        const n = (await request.arrayBuffer()).byteLength;
        this.pieces.push([Number(request.headers.get("Upload-Offset")), n]);
        await this.hold();
        if (this.isRemoved) return this.answer(404, {});
        this.offset += n;
        return this.answer(204, { "Upload-Offset": `${this.offset}` });
      }),
      http.delete(address, () => {
        this.isRemoved = true;
        return this.answer(204, {});
      }),
    ];
  }

  private answer(status: number, headers: Record<string, string>) {
    return new HttpResponse(null, { status, headers: { "Tus-Resumable": "1.0.0", ...headers } });
  }
}

async function chosen() {
  const { user } = renderPage("/datasets");
  await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
  const dialog = within(await screen.findByRole("dialog"));
  await dialog.findByLabelText("Data file");
  return { user, dialog };
}

/** To the question of that title, which is all that a first click does. */
async function agree(user: UserEvent, question: string, label: string) {
  const asked = within(await screen.findByRole("dialog", { name: question }));
  await user.click(asked.getByRole("button", { name: label }));
}

describe("a large file", () => {
  let upload: FakeUpload;
  let used: Record<string, unknown>[];

  beforeEach(() => {
    localStorage.clear();
    upload = new FakeUpload();
    used = [];
    const appended = vi.spyOn(FormData.prototype, "append");
    server.use(
      ...upload.handlers(),
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () => {
        used.push(Object.fromEntries(appended.mock.calls.map(([name, value]) => [name, value])));
        return HttpResponse.json<Dataset>(dataset(), { status: 201 });
      }),
      answers("/api/v1/datasets/:id", dataset()),
      answers("/api/v1/datasets/:id/versions", page([])),
    );
  });

  it("is sent in pieces, paused and resumed, and becomes the dataset", async () => {
    let goOn: () => void = () => undefined;
    upload.hold = () => new Promise((resolve) => (goOn = resolve));
    const { user, dialog } = await chosen();
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));
    await waitFor(() => expect(upload.pieces).toEqual([[0, 8 * MIB]]));

    await user.click(dialog.getByRole("button", { name: "Pause" }));
    expect(dialog.getByRole("status")).toHaveTextContent("Paused");
    goOn();
    upload.hold = () => Promise.resolve();
    await waitFor(() => expect(upload.offset).toBe(8 * MIB));
    expect(begunUploads()).toEqual({ [fingerprint(FILE, project().id)]: ID });
    await user.click(dialog.getByRole("button", { name: "Resume" }));

    await waitFor(() => expect(used).toHaveLength(1));
    expect(used[0]).toMatchObject({ upload: ID, name: "digits", project: project().id });
    expect(used[0]).not.toHaveProperty("file");
    expect(upload.pieces).toEqual([[0, 8 * MIB], [8 * MIB, MIB]]);
    expect(upload.nBegun).toBe(1);
    await waitFor(() => expect(begunUploads()).toEqual({}));
  });

  it("is begun once when it is paused before the platform has made it", async () => {
    let made: () => void = () => undefined;
    upload.holdBegun = () => new Promise((resolve) => (made = resolve));
    const { user, dialog } = await chosen();
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));
    await waitFor(() => expect(upload.nBegun).toBe(1));
    await user.click(dialog.getByRole("button", { name: "Pause" }));
    made();
    await waitFor(() => expect(begunUploads()).toEqual({ [fingerprint(FILE, project().id)]: ID }));
    expect(upload.pieces).toEqual([]);
    await user.click(dialog.getByRole("button", { name: "Resume" }));
    await waitFor(() => expect(used).toHaveLength(1));
    expect(upload.nBegun).toBe(1);
  });

  it("leaves nothing when it is cancelled before the platform has made it", async () => {
    let made: () => void = () => undefined;
    upload.holdBegun = () => new Promise((resolve) => (made = resolve));
    const { user, dialog } = await chosen();
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));
    await waitFor(() => expect(upload.nBegun).toBe(1));
    await user.click(dialog.getByRole("button", { name: "Cancel the upload" }));
    await agree(user, "Cancel the upload?", "Cancel the upload");
    made();
    await waitFor(() => expect(upload.isRemoved).toBe(true));
    expect([begunUploads(), upload.pieces]).toEqual([{}, []]);
  });

  it("is sent anew when another tab has used what had arrived", async () => {
    let goOn: () => void = () => undefined;
    upload.hold = () => new Promise((resolve) => (goOn = resolve));
    const { user, dialog } = await chosen();
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));
    await waitFor(() => expect(upload.pieces).toHaveLength(1));
    upload.isRemoved = true;
    upload.hold = () => Promise.resolve();
    goOn();
    await waitFor(() => expect(used).toHaveLength(1));
    expect(upload.nBegun).toBe(2);
    expect(upload.pieces.slice(1)).toEqual([[0, 8 * MIB], [8 * MIB, MIB]]);
  });

  it("goes on after a reload when the same file is chosen, as the form says", async () => {
    rememberUpload(fingerprint(FILE, project().id), ID);
    upload.offset = 8 * MIB;
    const begun = { id: ID, filename: FILE.name, offset_bytes: upload.offset, length_bytes: FILE.size, project: project() };
    server.use(answers("/api/v1/uploads", page([begun as unknown as ResumableUpload])));
    const { user, dialog } = await chosen();
    expect(await dialog.findByText(/digits\.csv: 8 MiB of 9 MiB have arrived\. Choose the same file or folder again/)).toBeVisible();
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));

    await waitFor(() => expect(used).toHaveLength(1));
    expect(upload.pieces).toEqual([[8 * MIB, MIB]]);
    expect(upload.nBegun).toBe(0);
  });

  it("is named on the page until it is resumed with its project, or discarded", async () => {
    const other = { ...project(), id: "01a20794-ec3a-7e2c-b0af-c1653e1a2b77", name: "Speech" };
    rememberUpload(fingerprint(FILE, other.id), ID, "/datasets");
    upload.offset = 8 * MIB;
    const begun = { id: ID, filename: FILE.name, offset_bytes: upload.offset, length_bytes: FILE.size, project: other };
    server.use(
      answers("/api/v1/uploads", () => page(upload.isRemoved ? [] : [begun as unknown as ResumableUpload])),
      answers("/api/v1/projects", page([project(), other])),
      answers("/api/v1/projects/:id", other),
    );
    const { user } = renderPage("/datasets");
    expect(await screen.findByText("digits.csv (Speech): 8 MiB of 9 MiB have arrived.")).toBeVisible();
    await user.click(screen.getByRole("link", { name: "Resume digits.csv" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByText(/Choose the same file or folder again/)).toBeVisible();
    expect(await dialog.findByRole("combobox", { name: "Project" })).toHaveValue("Speech (Acme)");
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));
    await waitFor(() => expect(used).toHaveLength(1));
    expect(upload.pieces).toEqual([[8 * MIB, MIB]]);
  });

  it("is shown on the page of models if it was begun there, and on no other one", async () => {
    rememberUpload(fingerprint(FILE, project().id), ID, "/models");
    const begun = { id: ID, filename: FILE.name, offset_bytes: 0, length_bytes: FILE.size, project: project() };
    server.use(
      answers("/api/v1/uploads", () => page(upload.isRemoved ? [] : [begun as unknown as ResumableUpload])),
      answers("/api/v1/models", page([])),
    );
    const { user } = renderPage("/models");
    await user.click(await screen.findByRole("button", { name: "Discard digits.csv" }));
    expect(upload.isRemoved).toBe(false);
    await agree(user, "Discard digits.csv?", "Discard");
    await waitFor(() => expect(screen.queryByText(/have arrived/)).not.toBeInTheDocument());
    expect([upload.isRemoved, begunUploads()]).toEqual([true, {}]);
  });

  it("is named on the first page, with the way to the page on which it was begun", async () => {
    rememberUpload(fingerprint(FILE, project().id), ID, "/models/01a20794-ec3a-7e2c-b0af-c1653e1a2b66");
    const old = { id: "01a20794-ec3a-7e2c-b0af-c1653e1a2b30", filename: "old.csv" };
    rememberUpload("of an earlier version", old.id);
    const begun = { id: ID, filename: FILE.name, offset_bytes: 8 * MIB, length_bytes: FILE.size, project: project() };
    server.use(
      answers("/api/v1/uploads", () => page([...(upload.isRemoved ? [] : [begun]), { ...begun, ...old }] as unknown as ResumableUpload[])),
    );
    const { user } = renderPage("/");
    expect(await screen.findByRole("link", { name: "Resume digits.csv" })).toHaveAttribute(
      "href",
      `/models/01a20794-ec3a-7e2c-b0af-c1653e1a2b66?upload=${project().id}`,
    );
    expect(screen.getByRole("link", { name: "Resume old.csv" })).toHaveAttribute("href", `/datasets?upload=${project().id}`);
    await user.click(screen.getByRole("button", { name: "Discard digits.csv" }));
    await agree(user, "Discard digits.csv?", "Discard");
    await waitFor(() => expect(screen.queryByText(/^digits\.csv/)).not.toBeInTheDocument());
    expect(screen.getByText(/^old\.csv/)).toBeVisible();
  });

  it("says what is still to be given while it cannot be sent", async () => {
    const { user, dialog } = await chosen();
    expect(dialog.getByRole("button", { name: "Upload" })).toHaveAccessibleDescription("Choose a file first.");
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.clear(dialog.getByLabelText("Name"));
    expect(dialog.getByRole("button", { name: "Upload" })).toHaveAccessibleDescription("Give it a name first.");
    await user.type(dialog.getByLabelText("Name"), "digits");
    expect(dialog.getByRole("button", { name: "Upload" })).toBeEnabled();
    expect(dialog.getByRole("button", { name: "Upload" })).not.toHaveAccessibleDescription();
  });

  it("asks for a project where there is none", async () => {
    server.use(answers("/api/v1/projects", page([])));
    const { dialog } = await chosen();
    expect(await dialog.findByText("Make or choose a project first.")).toBeVisible();
    expect(dialog.getByRole("button", { name: "Upload" })).toBeDisabled();
  });

  it("is removed from the platform when it is cancelled or discarded", async () => {
    rememberUpload(fingerprint(FILE, project().id), ID);
    const begun = { id: ID, filename: FILE.name, offset_bytes: 0, length_bytes: FILE.size, project: project() };
    server.use(answers("/api/v1/uploads", () => page(upload.isRemoved ? [] : [begun as unknown as ResumableUpload])));
    const { user, dialog } = await chosen();
    await user.click(await dialog.findByRole("button", { name: "Discard digits.csv" }));
    await agree(user, "Discard digits.csv?", "Discard");
    await waitFor(() => expect(upload.isRemoved).toBe(true));
    await waitFor(() => expect(dialog.queryByText(/have arrived/)).not.toBeInTheDocument());
    expect(begunUploads()).toEqual({});

    upload.isRemoved = false;
    upload.hold = () => new Promise(() => undefined);
    await user.upload(dialog.getByLabelText("Data file"), FILE);
    await user.click(dialog.getByRole("button", { name: "Upload" }));
    await waitFor(() => expect(upload.pieces).toHaveLength(1));
    await user.click(dialog.getByRole("button", { name: "Cancel the upload" }));
    expect(upload.isRemoved).toBe(false);
    await agree(user, "Cancel the upload?", "Cancel the upload");
    await waitFor(() => expect(upload.isRemoved).toBe(true));
  });
});
