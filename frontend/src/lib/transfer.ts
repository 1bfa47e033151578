// SPDX-License-Identifier: Apache-2.0
// How far a file is, and when it will have left.

export interface Transfer {
  sent: number;
  total: number;
  /** Undefined until the speed is known. */
  secondsLeft: number | undefined;
}

const MEASURED_MS = 2_000;

/** Follows one file; the speed is that since it began or went on, so that what was there before does not count. */
export class TransferClock {
  private since: { at: number; sent: number } | undefined;

  /** After a pause, whose time does not count. */
  restart() {
    this.since = undefined;
  }

  /** sent, total: bytes. now: milliseconds. */
  at(sent: number, total: number, now: number): Transfer {
    this.since ??= { at: now, sent };
    const passed = now - this.since.at;
    const moved = sent - this.since.sent;
    const isKnown = passed >= MEASURED_MS && moved > 0;
    return { sent, total, secondsLeft: isKnown ? ((total - sent) / moved) * (passed / 1000) : undefined };
  }
}
