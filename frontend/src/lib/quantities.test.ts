// SPDX-License-Identifier: Apache-2.0
// Sizes, numbers and times as people read them.
import { describe, expect, it } from "vitest";

import { cursorOf } from "@/lib/cursor";
import { bytes, number } from "@/lib/quantities";
import { ago, duration, shortDuration, until } from "@/lib/time";

describe("Quantities", () => {
  it.each([
    [0, "0 B"],
    [1023, "1,023 B"],
    [1536, "1.5 KiB"],
    [10 * 1024 ** 3, "10 GiB"],
    [null, "–"],
  ])("writes %s bytes as %s", (n, shown) => {
    expect(bytes(n)).toBe(shown);
  });

  it.each([
    [1797, "1,797"],
    [0.98123456, "0.9812"],
    [0.00001234, "1.23e-5"],
    [1e9, "1,000,000,000"],
    [1e294, "1e294"],
    [-2.5e15, "-2.5e15"],
    [12_345_678.5, "1.23e7"],
    [NaN, "–"],
  ])("writes the number %s as %s", (x, shown) => {
    expect(number(x)).toBe(shown);
  });
});

describe("Times", () => {
  it.each([
    [null, "–"],
    [0.25, "0.3 s"],
    [42, "42 s"],
    [185, "3 min 05 s"],
    [3_900, "1 h 05 min"],
    [97_200, "1 d 03 h"],
  ])("writes %s seconds as %s", (seconds, shown) => {
    expect(duration(seconds)).toBe(shown);
  });

  it("says how long ago, and how soon", () => {
    const now = new Date("2026-03-02T10:00:00Z");
    expect(ago("2026-03-02T09:55:00Z", now)).toBe("5 min ago");
    expect(ago("2026-03-02T12:00:00Z", now)).toBe("in 2 h");
  });

  it("calls what has happened just now by that name, and never what has yet to come", () => {
    const now = new Date("2026-03-02T10:00:00Z");
    expect(ago("2026-03-02T09:59:55Z", now)).toBe("just now");
    expect(ago("2026-03-02T10:00:01Z", now)).toBe("just now"); // the clocks of server and browser differ
    expect(ago("2026-03-02T10:00:06Z", now)).toBe("in 6 s");
  });

  it("calls a prediction overdue once its time has passed", () => {
    const now = new Date("2026-03-02T10:00:00Z");
    expect(until("2026-03-02T10:05:00Z", now)).toBe("in 5 min");
    expect(until("2026-03-02T09:57:00Z", now)).toBe("overdue by 3 min");
  });

  it.each([
    [0.0004, "0.4 ms"],
    [0.0123456, "12.3 ms"],
    [2.5, "2.5 s"],
    [90, "1 min 30 s"],
    [null, "–"],
  ])("writes the short time of %s seconds as %s", (seconds, shown) => {
    expect(shortDuration(seconds)).toBe(shown);
  });
});

describe("Cursors", () => {
  it("are taken from a page's addresses", () => {
    expect(cursorOf("http://mlhub.example/api/v1/jobs?cursor=abc%3D&limit=50")).toBe("abc=");
    expect(cursorOf(null)).toBeUndefined();
  });
});
