// SPDX-License-Identifier: Apache-2.0
// Before each test file: jest-dom's matchers, the browser's missing parts, and a server that refuses surprises.
import "@testing-library/jest-dom/vitest";

import { i18n } from "@lingui/core";
import { notifications } from "@mantine/notifications";
import { cleanup, configure, getConfig } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";

import { FakeEventSource } from "@/testing/eventsource";
import { withoutOwnerStacks } from "@/testing/ownerStacks";
import { server } from "@/testing/server";

class FakeResizeObserver {
  observe() {
    // jsdom lays nothing out, so no size ever changes.
  }
  unobserve() {
    // See observe.
  }
  disconnect() {
    // See observe.
  }
}

/** Everything is in view, as on a screen that is high enough. */
class FakeIntersectionObserver {
  constructor(private readonly callback: IntersectionObserverCallback) {}
  observe(target: Element) {
    const entry = { isIntersecting: true, target, boundingClientRect: target.getBoundingClientRect() };
    queueMicrotask(() => this.callback([entry as IntersectionObserverEntry], this as never));
  }
  unobserve() {
    // Nothing leaves the view.
  }
  disconnect() {
    // See unobserve.
  }
}

/** jsdom lays nothing out: of everything, only logs, virtual tables and their lines have a height, so that some are in view. */
function clientHeight(this: Element): number {
  return ["log", "table"].includes(this.getAttribute("role") ?? "") ? 360 : 0;
}

function offsetHeight(this: HTMLElement): number {
  return this.hasAttribute("data-index") ? 18 : 0;
}

/** A desktop: wide, light, without reduced motion. */
function matchMedia(query: string): MediaQueryList {
  const target = new EventTarget();
  return Object.assign(target, {
    matches: query.includes("min-width"),
    media: query,
    onchange: null,
    addListener: () => undefined,
    removeListener: () => undefined,
  });
}

/** A search that is repeated until it finds something prints the whole document when it gives up, and not at each try. */
function withoutDocumentWhileWaiting(print: (message: string | null, container: Element) => Error) {
  return (message: string | null, container: Element) => {
    const isRepeated = Boolean(Reflect.get(getConfig(), "_disableExpensiveErrorDiagnostics"));
    return isRepeated ? new Error(message ?? "") : print(message, container);
  };
}

withoutOwnerStacks();

// English, which is in the code: modules translate as they are loaded.
i18n.loadAndActivate({ locale: "en", messages: {} });

Object.defineProperty(HTMLElement.prototype, "offsetHeight", { get: offsetHeight, configurable: true });
Object.defineProperty(Element.prototype, "clientHeight", { get: clientHeight, configurable: true });
vi.stubGlobal("ResizeObserver", FakeResizeObserver);
vi.stubGlobal("IntersectionObserver", FakeIntersectionObserver);
vi.stubGlobal("EventSource", FakeEventSource);
vi.stubGlobal("matchMedia", matchMedia);
// What a busy machine takes: nothing is asserted of how fast the dashboard is.
configure({ asyncUtilTimeout: 60_000, getElementError: withoutDocumentWhileWaiting(getConfig().getElementError) });
window.scrollTo = () => undefined;
Element.prototype.scrollIntoView = () => undefined;

/** What the test's page asked for, and no handler answers. */
let unanswered: string[] = [];

beforeAll(() =>
  server.listen({
    onUnhandledFrame: ({ frame, defaults }) => {
      const { request } = frame.data as { request?: Request };
      unanswered.push(request === undefined ? frame.protocol : `${request.method} ${request.url}`);
      defaults.error();
    },
  }),
);
beforeEach(() => {
  unanswered = []; // a page of the test before may have asked for more while it went
});
afterEach(() => {
  cleanup();
  const missed = unanswered;
  unanswered = [];
  notifications.clean();
  server.resetHandlers();
  FakeEventSource.instances = [];
  if (missed.length > 0) throw new Error(`No handler answers ${[...new Set(missed)].join(", ")}: the test is to say what the server does.`);
});
afterAll(() => server.close());
