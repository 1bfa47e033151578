// SPDX-License-Identifier: Apache-2.0
// The colours that badges may have: each is checked for contrast on both themes (app/theme.test.ts).
export const BADGE_COLORS = ["gray", "yellow", "cyan", "indigo", "orange", "violet", "teal", "red"] as const;

export type BadgeColor = (typeof BADGE_COLORS)[number];
