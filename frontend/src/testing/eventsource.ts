// SPDX-License-Identifier: Apache-2.0
// An EventSource that tests drive: what it was opened with, and what arrives on it.

export class FakeEventSource extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static instances: FakeEventSource[] = [];

  readonly url: string;
  readyState = FakeEventSource.CONNECTING;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;

  constructor(url: string | URL) {
    super();
    this.url = String(url);
    FakeEventSource.instances.push(this);
  }

  /** The newest connection to an address that starts with `path`. */
  static of(path: string): FakeEventSource {
    const found = FakeEventSource.instances.findLast(({ url }) => url.startsWith(path));
    if (!found) throw new Error(`Nothing listens to ${path}.`);
    return found;
  }

  open() {
    this.readyState = FakeEventSource.OPEN;
    this.onopen?.();
  }

  emit(name: string, data: unknown, id = "") {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data), lastEventId: id }));
  }

  fail() {
    this.onerror?.();
  }

  close() {
    this.readyState = FakeEventSource.CLOSED;
  }
}
