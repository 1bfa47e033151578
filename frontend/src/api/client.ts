// SPDX-License-Identifier: Apache-2.0
// The only door to the REST API: typed calls, the CSRF header, and errors as Problem.
import { t } from "@lingui/core/macro";
import createClient, { type Middleware } from "openapi-fetch";

import { patientFetch } from "@/api/patientFetch";
import type { paths } from "@/api/schema";
import { currentLocale } from "@/locales/locale";

export interface FieldError {
  field: string;
  message: string;
  remedy?: string;
}

const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/** What the API answers instead of a result (RFC 9457). Status 0: no answer came at all. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly remedy: string;
  readonly errors: FieldError[];
  /** Further members, which are facts of the code. */
  readonly facts: Record<string, unknown>;

  constructor(status: number, body: unknown) {
    const facts = isRecord(body) ? body : {};
    const title = text(facts.title) || (status === 0 ? t`No connection` : t`Error ${status}`);
    const detail = text(facts.detail) || fallbackDetail(status);
    super(detail);
    this.name = t`Problem`;
    this.status = status;
    this.code = text(facts.code) || "unknown";
    this.title = title;
    this.detail = detail;
    this.remedy = text(facts.remedy);
    this.facts = facts;
    this.errors = Array.isArray(facts.errors) ? facts.errors.filter(isFieldError) : [];
  }

  /** The message for one input of a form, or undefined. */
  of(field: string): string | undefined {
    const found = this.errors.find((error) => error.field === field);
    return found && [found.message, found.remedy].filter(Boolean).join(" ");
  }
}

export function csrfToken(): string {
  const found = /(?:^|;\s*)csrftoken=([^;]+)/.exec(document.cookie);
  return found?.[1] ? decodeURIComponent(found[1]) : "";
}

const headers: Middleware = {
  onRequest({ request }) {
    request.headers.set("accept-language", currentLocale()); // what the platform says is in the page's language
    if (!SAFE_METHODS.includes(request.method)) request.headers.set("X-CSRFToken", csrfToken());
    return request;
  },
};

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  fetch: patientFetch,
});
api.use(headers);

/** How a list of ids stands in an address: once, separated by commas. */
export const commaLists = { array: { style: "form", explode: false } } as const;

/** The result of a call of `api`, or a thrown Problem. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, undefined);
  }
  if (!answer.response.ok) throw new Problem(answer.response.status, answer.error);
  return answer.data as T;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFieldError(value: unknown): value is FieldError {
  return isRecord(value) && typeof value.field === "string" && typeof value.message === "string";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fallbackDetail(status: number): string {
  if (status === 0) return t`MLHub did not answer. Check your connection and try again.`;
  if (status === 413) return t`The file is larger than this MLHub accepts.`;
  if (status === 429) return t`Too many requests in a short time. Wait a moment, then try again.`;
  if (status >= 500) return t`MLHub failed to answer this. Try again in a moment.`;
  return t`The request was refused.`;
}
