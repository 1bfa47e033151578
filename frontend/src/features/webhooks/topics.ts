// SPDX-License-Identifier: Apache-2.0
// What webhooks can be notified of, in words. A topic of the API that is missing here does not compile.
import { t } from "@lingui/core/macro";

import type { WebhookTopic } from "@/api/types";

export const TOPICS: Record<WebhookTopic, string> = {
  "job.running": t`A job started to run`,
  "job.succeeded": t`A job succeeded`,
  "job.failed": t`A job failed`,
  "job.cancelled": t`A job was cancelled`,
  "job.paused": t`A job was paused`,
  "job.preempted": t`A job gives its GPUs back and waits`,
  "job.waiting_long": t`A job waits for long`,
  "dataset.ready": t`A dataset is ready`,
  "dataset.refused": t`A dataset was refused`,
  "quota.requested": t`A member asks for quota`,
  "quota.request_approved": t`A request for quota was approved`,
  "quota.request_refused": t`A request for quota was refused`,
  "budget.reached": t`80 or 100 % of a budget is used`,
  "user_budget.reached": t`80 or 100 % of a user's GPU-hours are used`,
  "usage.weekly": t`What was used in a week`,
  "usage.monthly": t`What was used in a month`,
};

export const USUAL: WebhookTopic[] = ["job.succeeded", "job.failed"];

/** A test is no topic that one chooses. */
export function topicLabel(topic: string): string {
  return topic in TOPICS ? TOPICS[topic as WebhookTopic] : t`A test`;
}
