// SPDX-License-Identifier: Apache-2.0
// Passkeys: what the browser is asked (WebAuthn), and why it cannot be asked here.
import { t } from "@lingui/core/macro";
import { queryOptions } from "@tanstack/react-query";

import { api, csrfToken, Problem, unwrap } from "@/api/client";
import type { PasskeyAdded, PasskeyAnswer } from "@/api/types";
import { everyPage } from "@/lib/cursor";

/** What toJSON() of a credential holds, in base64url; TypeScript's own types leave it open. */
interface SignedJSON {
  clientDataJSON: string;
  authenticatorData: string;
  signature: string;
  userHandle?: string;
}

interface AttestedJSON {
  clientDataJSON: string;
  attestationObject: string;
}

export const passkeysQuery = queryOptions({
  queryKey: ["passkeys"],
  queryFn: () => everyPage((query) => unwrap(api.GET("/api/v1/auth/passkeys", { params: { query } }))),
});

/** Why passkeys cannot be used on this page; undefined: they can. origin: of the pages that may, null: of none. */
export function whyNoPasskeys(origin: string | null): Problem | undefined {
  const title = t`Passkeys do not work here`;
  if (origin === null) {
    return new Problem(0, {
      title,
      code: "no_passkeys",
      detail: t`Browsers know passkeys at https addresses and at localhost only.`,
      remedy: t`An administrator gives MLHub an https address with a host name: MLHUB_PUBLIC_URL.`,
    });
  }
  if (window.location.origin !== origin) {
    return new Problem(0, {
      title,
      code: "other_origin",
      detail: t`Browsers use the passkeys of this MLHub at one address only: ${origin}.`,
      remedy: t`Open this page there.`,
    });
  }
  if (!("PublicKeyCredential" in window) || !("parseCreationOptionsFromJSON" in PublicKeyCredential)) {
    return new Problem(0, {
      title,
      code: "old_browser",
      detail: t`This browser is too old for passkeys.`,
      remedy: t`Use a newer one.`,
    });
  }
  return undefined;
}

/** What a passkey of the person's signs, whichever they choose. Throws a Problem; also when they choose none. */
export async function askPasskey(): Promise<PasskeyAnswer> {
  await refuseWhereImpossible();
  if (csrfToken() === "") await unwrap(api.GET("/api/v1/auth/csrf"));
  const { options } = await unwrap(api.POST("/api/v1/auth/passkey-challenge"));
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never);
  const found = await asked(navigator.credentials.get({ publicKey }));
  const { id, response } = found.toJSON() as { id: string; response: SignedJSON };
  return {
    id,
    client_data: response.clientDataJSON,
    authenticator_data: response.authenticatorData,
    signature: response.signature,
    user_handle: response.userHandle ?? "",
  };
}

/** Has the browser make a passkey by the options of the API, and adds it. Throws a Problem. */
export async function makePasskey(name: string, options: Record<string, unknown>): Promise<PasskeyAdded> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never);
  const made = await asked(navigator.credentials.create({ publicKey }));
  const { response } = made.toJSON() as { response: AttestedJSON };
  const body = { name, client_data: response.clientDataJSON, attestation: response.attestationObject };
  return unwrap(api.POST("/api/v1/auth/passkeys", { body }));
}

async function refuseWhereImpossible(): Promise<void> {
  const { passkey_origin } = await unwrap(api.GET("/api/v1/auth/methods"));
  const problem = whyNoPasskeys(passkey_origin);
  if (problem) throw problem;
}

async function asked(answer: Promise<Credential | null>): Promise<PublicKeyCredential> {
  let found: Credential | null;
  try {
    found = await answer;
  } catch (error) {
    throw explained(error);
  }
  if (found === null) throw explained(undefined);
  return found as PublicKeyCredential;
}

function explained(error: unknown): Problem {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "InvalidStateError") {
    return new Problem(0, {
      title: t`There is a passkey already`,
      detail: t`This device holds a passkey of your account.`,
      remedy: t`Use that one, or choose another device.`,
    });
  }
  const isEnded = name === "NotAllowedError" || name === "AbortError" || name === "";
  return new Problem(0, {
    title: t`No passkey was used`,
    detail: isEnded ? t`It was cancelled, or took too long.` : t`The browser refused: ${(error as DOMException).message}`,
    remedy: t`Try again.`,
  });
}
