// SPDX-License-Identifier: Apache-2.0
// The browser and the system that a user agent names, which is a sentence for servers.
import { t } from "@lingui/core/macro";

/* oxlint-disable lingui/no-unlocalized-strings -- names of products */
/** In this order: most browsers name those that they are like, too. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\/|\bOpera\b/, "Opera"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//, "Chrome"],
  [/\bVersion\/\S+ .*\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
  [/^python-(?:httpx|requests)\//, "Python"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];
/* oxlint-enable lingui/no-unlocalized-strings */

/** "Firefox on Linux"; as the browser calls itself where that is not known. */
export function browserName(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  if (browser === undefined) return userAgent;
  return system === undefined ? browser : t`${browser} on ${system}`;
}
