// SPDX-License-Identifier: Apache-2.0
// What webhooks can be notified of, in words. A topic of the API that is missing here does not compile.
import type { WebhookTopic } from "@/api/types";

export const TOPICS: Record<WebhookTopic, string> = {
  "job.running": "A job started to run",
  "job.succeeded": "A job succeeded",
  "job.failed": "A job failed",
  "job.cancelled": "A job was cancelled",
  "job.paused": "A job was paused",
  "job.waiting_long": "A job waits for long",
  "dataset.ready": "A dataset is ready",
  "dataset.refused": "A dataset was refused",
  "budget.reached": "80 or 100 % of a budget is used",
};

export const USUAL: WebhookTopic[] = ["job.succeeded", "job.failed"];

/** A test is no topic that one chooses. */
export function topicLabel(topic: string): string {
  return topic in TOPICS ? TOPICS[topic as WebhookTopic] : "A test";
}
