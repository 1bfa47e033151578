// SPDX-License-Identifier: Apache-2.0
// The stream's hook: nothing is lost when the connection is.
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { useStream } from "@/api/live/stream";
import { FakeEventSource } from "@/testing/eventsource";

const PATH = "/api/v1/jobs/1/stream";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function newest(): FakeEventSource {
  return FakeEventSource.of(PATH);
}

function pass(ms: number) {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
}

describe("useStream", () => {
  it("reconnects from the last id it has seen", () => {
    const seen: unknown[] = [];
    const { result } = renderHook(() => useStream(PATH, { log: (data) => seen.push(data) }, { lastEventId: "4-2" }));
    expect(newest().url).toBe(`${PATH}?last_event_id=4-2`);
    act(() => newest().open());
    expect(result.current.isConnected).toBe(true);
    act(() => newest().emit("log", { lines: ["one"] }, "5-7"));
    expect(seen).toEqual([{ lines: ["one"] }]);

    act(() => newest().fail());
    expect(result.current.isConnected).toBe(false);
    pass(1_000);
    expect(FakeEventSource.instances).toHaveLength(2);
    expect(newest().url).toBe(`${PATH}?last_event_id=5-7`);
  });

  it("has no stream in a tab in the background, and goes on where it was when that is looked at again", () => {
    const visibility = vi.spyOn(document, "visibilityState", "get");
    const show = (state: DocumentVisibilityState) => {
      visibility.mockReturnValue(state);
      act(() => void document.dispatchEvent(new Event("visibilitychange")));
    };
    const { unmount } = renderHook(() => [useStream(PATH, { log: () => undefined }), useStream("/api/v1/stream", { changed: () => undefined })]);
    act(() => newest().open());
    act(() => newest().emit("log", {}, "5-7"));
    show("hidden");
    pass(4_000);
    show("visible");
    pass(4_000);
    expect(newest().readyState).toBe(FakeEventSource.OPEN);
    act(() => newest().emit("heartbeat", {}));

    show("hidden");
    pass(5_000);
    const before = FakeEventSource.instances.length;
    pass(60_000);
    expect(FakeEventSource.instances.every(({ readyState }) => readyState === FakeEventSource.CLOSED)).toBe(true);
    expect(FakeEventSource.instances).toHaveLength(before);
    show("visible");
    expect(newest().url).toBe(`${PATH}?last_event_id=5-7`);
    expect(FakeEventSource.of("/api/v1/stream").readyState).not.toBe(FakeEventSource.CLOSED);
    unmount();
    visibility.mockRestore();
  });

  it("waits longer after each failure, and briefly again once connected", () => {
    renderHook(() => useStream(PATH, { log: () => undefined }));
    act(() => newest().fail());
    pass(1_000);
    act(() => newest().fail());
    pass(1_999);
    expect(FakeEventSource.instances).toHaveLength(2);
    pass(1);
    expect(FakeEventSource.instances).toHaveLength(3);

    act(() => newest().open());
    act(() => newest().fail());
    pass(1_000);
    expect(FakeEventSource.instances).toHaveLength(4);
  });

  it("uses the newest handlers without reconnecting, and closes when it goes", () => {
    const first = vi.fn();
    const second = vi.fn();
    const { rerender, unmount } = renderHook(({ log }) => useStream(PATH, { log }), { initialProps: { log: first } });
    rerender({ log: second });
    act(() => newest().emit("log", 1));
    expect(first).not.toHaveBeenCalled();
    expect(second).toHaveBeenCalledWith(1);
    expect(FakeEventSource.instances).toHaveLength(1);

    unmount();
    expect(newest().readyState).toBe(FakeEventSource.CLOSED);
  });

  it("notices within 10 s that the server is silent, says since when, and connects anew", () => {
    const { result } = renderHook(() => useStream(PATH, { log: () => undefined }));
    act(() => newest().open());
    pass(5_000);
    act(() => newest().emit("heartbeat", {}));
    const heardAt = new Date().toISOString();
    pass(5_000);
    expect(result.current).toEqual({ isConnected: true, staleSince: null });

    pass(4_500);
    expect(result.current).toEqual({ isConnected: false, staleSince: heardAt });
    pass(1_000);
    expect(FakeEventSource.instances).toHaveLength(2);
    act(() => newest().open());
    expect(result.current).toEqual({ isConnected: true, staleSince: null });
  });

  it("opens anew what never answers", () => {
    const { result } = renderHook(() => useStream(PATH, { log: () => undefined }));
    pass(10_000);
    expect(FakeEventSource.instances).toHaveLength(2);
    expect(result.current).toEqual({ isConnected: false, staleSince: null });
  });

  it("stays off without a path", () => {
    const { result } = renderHook(() => useStream(null, { log: () => undefined }));
    expect(FakeEventSource.instances).toHaveLength(0);
    expect(result.current.isConnected).toBe(false);
  });
});
