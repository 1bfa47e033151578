// SPDX-License-Identifier: Apache-2.0
// How an account is named where one chooses among many: with its e-mail address, where it has one and it may be seen.

export function accountText({ username, email }: { username: string; email?: string }): string {
  return email ? `${username} (${email})` : username;
}
