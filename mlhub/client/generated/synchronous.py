# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from the schema: do not edit.
"""Operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mlhub.client.generated import records as r
from mlhub.client.records import ApiRows
from mlhub.client.requests import UNSET, FileSource, Ref, StreamEvent, Unset, joined, new_key, path_of
from mlhub.client.synchronous.pages import PAGE_SIZE, Pages
from mlhub.client.synchronous.transport import Transport

if TYPE_CHECKING:
    from mlhub.client.generated import bodies as b
    from mlhub.client.generated import values as v


class AgentsOperations:
    """The operations under /agents."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> r.Agents:
        """The machines with an agent, for platform administrators.

        GET /agents
        """
        return self._transport.record(r.Agents, "GET", path_of("/agents"))

    def create(self, *, name: str, must_be_new: bool | Unset = UNSET) -> r.AgentToken:
        """Makes an agent with its token, which is shown this once; of an agent that is there, a token in place of its
        present one. Platform administrators only.

        POST /agents

        name: The name that the machine shall have as a node.
        must_be_new: Whether to refuse where there is such an agent; by default false.
        """
        return self._transport.record(
            r.AgentToken, "POST", path_of("/agents"), body={"name": name, "must_be_new": must_be_new}
        )

    def delete(self, name: Ref, /) -> None:
        """Removes an agent with its token and node; what runs there is ended, and counts as lost. Platform
        administrators only.

        DELETE /agents/{name}
        """
        self._transport.content("DELETE", path_of("/agents/{name}", name=name))


class AnnouncementsOperations:
    """The operations under /announcements."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int = PAGE_SIZE) -> Pages[r.Announcement]:
        """Announcements, the newest first: for platform administrators all, for others those that are shown to them.

        GET /announcements

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Announcement, path_of("/announcements"), size=page_size)

    def create(
        self,
        *,
        text: str,
        severity: v.SeverityEnum | Unset = UNSET,
        organisation: str | Unset | None = UNSET,
        begins_at: datetime | str | Unset | None = UNSET,
        ends_at: datetime | str | Unset | None = UNSET,
        is_dismissible: bool | Unset = UNSET,
    ) -> r.Announcement:
        """Publishes one: pages show it within seconds, or from its begin on. Platform administrators only.

        POST /announcements

        text: What is said: plain text, shown as it is. Addresses in it are no links.
        severity: information or warning.
        organisation: The id of the organisation that it is for; null or left out: everybody.
        begins_at: From when on it is shown; null or left out: from now.
        ends_at: When it ends by itself; null or left out: when it is deleted.
        is_dismissible: Whether a person may put it away before it ends.
        """
        return self._transport.record(
            r.Announcement,
            "POST",
            path_of("/announcements"),
            body={
                "text": text,
                "severity": severity,
                "organisation": organisation,
                "begins_at": begins_at,
                "ends_at": ends_at,
                "is_dismissible": is_dismissible,
            },
        )

    def get(self, id: Ref, /) -> r.Announcement:
        """One announcement.

        GET /announcements/{id}
        """
        return self._transport.record(r.Announcement, "GET", path_of("/announcements/{id}", id=id))

    def delete(self, id: Ref, /) -> None:
        """Deletes it: pages show it no more. Platform administrators only.

        DELETE /announcements/{id}
        """
        self._transport.content("DELETE", path_of("/announcements/{id}", id=id))

    def dismissal(self, id: Ref, /) -> None:
        """Puts it away for the caller, on every device; 409 for one that is shown until it ends.

        POST /announcements/{id}/dismissal
        """
        self._transport.content("POST", path_of("/announcements/{id}/dismissal", id=id))

    def current(self) -> r.CurrentAnnouncements:
        """What is said to the caller now, and when that changes by itself. The stream reports other changes of it.

        GET /announcements/current
        """
        return self._transport.record(r.CurrentAnnouncements, "GET", path_of("/announcements/current"))


class AuthOperations:
    """The operations under /auth."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def csrf(self) -> None:
        """Sets the cookie `csrftoken`; send its value as X-CSRFToken with every write of a session.

        GET /auth/csrf
        """
        self._transport.content("GET", path_of("/auth/csrf"))

    def forgotten_password(self, *, account: str) -> None:
        """Sends a link to set a password by mail. 204 whether there is such an account or not; 409 without mail
        server.

        For accounts that sign in with a password and have an e-mail address. 429 after too many of one name, or
        from
        one address.

        POST /auth/forgotten-password

        account: The user name, or the account's e-mail address.
        """
        self._transport.content("POST", path_of("/auth/forgotten-password"), body={"account": account})

    def list_identities(self, *, page_size: int = PAGE_SIZE) -> Pages[r.Identity]:
        """The identities with which one signs in to this account.

        GET /auth/identities

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Identity, path_of("/auth/identities"), size=page_size)

    def create_identity(
        self,
        *,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> r.ProviderAddress:
        """Begins to link an identity: the person signs in at the provider. With password, and second factor
        where there is one, as the identity opens the account from then on.

        POST /auth/identities

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        """
        return self._transport.record(
            r.ProviderAddress,
            "POST",
            path_of("/auth/identities"),
            body={"code": code, "passkey": passkey, "password": password},
        )

    def delete_identity(self, id: Ref, /) -> None:
        """Unlinks it and ends one's other sessions; 409 when it is the only way to sign in.

        DELETE /auth/identities/{id}
        """
        self._transport.content("DELETE", path_of("/auth/identities/{id}", id=id))

    def impersonation_end(self) -> None:
        """An administrator acts as themself again; without an impersonation, nothing happens.

        POST /auth/impersonation/end
        """
        self._transport.content("POST", path_of("/auth/impersonation/end"))

    def invitation(self, *, secret: str) -> r.MyInvitation:
        """What the link of an invitation offers: organisation, role, by whom, until when. 403 for a void link.

        POST /auth/invitation

        secret: What follows the # of the link.
        """
        return self._transport.record(r.MyInvitation, "POST", path_of("/auth/invitation"), body={"secret": secret})

    def invitation_accept(self, *, secret: str, username: str | Unset = UNSET, password: str | Unset = UNSET) -> r.Me:
        """Joins the organisation: with the account that is signed in, or with a new one, which is signed in then.

        POST /auth/invitation/accept

        secret: What follows the # of the link.
        username: The name of the account to make; not when signed in.
        password: Its password; not when signed in.
        """
        return self._transport.record(
            r.Me,
            "POST",
            path_of("/auth/invitation/accept"),
            body={"secret": secret, "username": username, "password": password},
        )

    def login(
        self,
        *,
        username: str,
        password: str,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
    ) -> r.Me:
        """Starts a session. 401 for a wrong name or password, 403 without a needed second factor, 429 for too many.

        POST /auth/login

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        username: The user name.
        password: The password.
        """
        return self._transport.record(
            r.Me,
            "POST",
            path_of("/auth/login"),
            body={"code": code, "passkey": passkey, "username": username, "password": password},
        )

    def logout(self) -> None:
        """Ends the session; without one, nothing happens.

        POST /auth/logout
        """
        self._transport.content("POST", path_of("/auth/logout"))

    def me(self) -> r.Me:
        """Who is asking, and where with which role.

        GET /auth/me
        """
        return self._transport.record(r.Me, "GET", path_of("/auth/me"))

    def methods(self) -> r.SignInMethods:
        """How one may sign in here, and why it failed just now.

        GET /auth/methods
        """
        return self._transport.record(r.SignInMethods, "GET", path_of("/auth/methods"))

    def notices(self) -> r.MailNotices:
        """What one is notified of, of the jobs that one submitted.

        GET /auth/notices
        """
        return self._transport.record(r.MailNotices, "GET", path_of("/auth/notices"))

    def set_notices(self, *, topics: Sequence[v.MailTopic]) -> r.MailNotices:
        """Chooses what to be notified of, all of it; from now on.

        PUT /auth/notices

        topics: What to be notified of; empty: nothing.
        """
        return self._transport.record(r.MailNotices, "PUT", path_of("/auth/notices"), body={"topics": topics})

    def passkey_challenge(self) -> r.PasskeyOptions:
        """What a passkey is to sign in this browser within five minutes: to sign in, as a second factor, or to prove
        that it is the owner who asks.

        POST /auth/passkey-challenge
        """
        return self._transport.record(r.PasskeyOptions, "POST", path_of("/auth/passkey-challenge"))

    def passkey_login(self, *, passkey: b.AssertionRequest) -> r.Me:
        """Starts a session; the passkey stands for password and second factor. 422 for one that is not accepted.

        POST /auth/passkey-login

        passkey: The passkey's answer.
        """
        return self._transport.record(r.Me, "POST", path_of("/auth/passkey-login"), body={"passkey": passkey})

    def list_passkeys(self, *, page_size: int = PAGE_SIZE) -> Pages[r.Passkey]:
        """The passkeys of one's account.

        GET /auth/passkeys

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Passkey, path_of("/auth/passkeys"), size=page_size)

    def create_passkey(self, *, name: str, client_data: str, attestation: str) -> r.PasskeyAdded:
        """Adds the passkey that the browser made with the options; the first second factor ends other sessions.

        POST /auth/passkeys

        name: What to call it; at most 100 characters.
        client_data: clientDataJSON of the response, base64url.
        attestation: attestationObject of the response, base64url.
        """
        return self._transport.record(
            r.PasskeyAdded,
            "POST",
            path_of("/auth/passkeys"),
            body={"name": name, "client_data": client_data, "attestation": attestation},
        )

    def update_passkey(self, id: Ref, /, *, name: str | Unset = UNSET) -> r.Passkey:
        """Renames it.

        PATCH /auth/passkeys/{id}

        name: Another name; at most 100 characters.
        """
        return self._transport.record(r.Passkey, "PATCH", path_of("/auth/passkeys/{id}", id=id), body={"name": name})

    def passkeys_remove(
        self,
        id: Ref,
        /,
        *,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> None:
        """Removes it and ends one's other sessions, with the same proof as adding one; 409 when it is the only way to
        sign in.

        POST /auth/passkeys/{id}/remove

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        """
        self._transport.content(
            "POST",
            path_of("/auth/passkeys/{id}/remove", id=id),
            body={"code": code, "passkey": passkey, "password": password},
        )

    def passkeys_options(
        self,
        *,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> r.PasskeyOptions:
        """Begins to add a passkey, within five minutes. With password and second factor, with another passkey, or, for
        accounts without a password, within ten minutes of signing in.

        POST /auth/passkeys/options

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        """
        return self._transport.record(
            r.PasskeyOptions,
            "POST",
            path_of("/auth/passkeys/options"),
            body={"code": code, "passkey": passkey, "password": password},
        )

    def password(self, *, current_password: str, new_password: str) -> None:
        """Changes one's password and ends one's other sessions. By session: a token cannot.

        POST /auth/password

        current_password: The present password.
        new_password: The new password.
        """
        self._transport.content(
            "POST", path_of("/auth/password"), body={"current_password": current_password, "new_password": new_password}
        )

    def password_link(
        self,
        *,
        secret: str,
        password: str,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
    ) -> r.Me:
        """Sets a password by a link that an administrator made, and starts a session. 403 for a link that is void.

        POST /auth/password-link

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        secret: What follows the # of the link.
        password: The new password.
        """
        return self._transport.record(
            r.Me,
            "POST",
            path_of("/auth/password-link"),
            body={"code": code, "passkey": passkey, "secret": secret, "password": password},
        )

    def second_factor(self) -> r.SecondFactor:
        """Whether one has an authenticator app. Passkeys are listed by themselves.

        GET /auth/second-factor
        """
        return self._transport.record(r.SecondFactor, "GET", path_of("/auth/second-factor"))

    def create_second_factor(
        self,
        *,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> r.Enrolment:
        """A new secret for an authenticator app. It counts once confirmed by a code; 409 where there is one already.

        POST /auth/second-factor

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        """
        return self._transport.record(
            r.Enrolment,
            "POST",
            path_of("/auth/second-factor"),
            body={"code": code, "passkey": passkey, "password": password},
        )

    def second_factor_confirm(self, *, code: str) -> r.RecoveryCodes:
        """Turns the second factor on and ends one's other sessions. The recovery codes are in this answer only.

        POST /auth/second-factor/confirm

        code: The code that the authenticator app shows now.
        """
        return self._transport.record(
            r.RecoveryCodes, "POST", path_of("/auth/second-factor/confirm"), body={"code": code}
        )

    def second_factor_recovery_codes(
        self,
        *,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> r.RecoveryCodes:
        """Ten new recovery codes, shown this once; the earlier ones count no more. 409 without a second factor.

        POST /auth/second-factor/recovery-codes

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        """
        return self._transport.record(
            r.RecoveryCodes,
            "POST",
            path_of("/auth/second-factor/recovery-codes"),
            body={"code": code, "passkey": passkey, "password": password},
        )

    def second_factor_remove(
        self,
        *,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> None:
        """Removes the authenticator app, with password and code, or with a passkey: a session alone cannot.

        POST /auth/second-factor/remove

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        """
        self._transport.content(
            "POST", path_of("/auth/second-factor/remove"), body={"code": code, "passkey": passkey, "password": password}
        )

    def list_sessions(self, *, page_size: int = PAGE_SIZE) -> Pages[r.Session]:
        """The browsers in which one is signed in.

        GET /auth/sessions

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Session, path_of("/auth/sessions"), size=page_size)

    def delete_session(self, id: Ref, /) -> None:
        """Signs that browser out at once.

        DELETE /auth/sessions/{id}
        """
        self._transport.content("DELETE", path_of("/auth/sessions/{id}", id=id))

    def setup(self) -> r.SetupStatus:
        """Whether the first administrator is still to be created.

        GET /auth/setup
        """
        return self._transport.record(r.SetupStatus, "GET", path_of("/auth/setup"))

    def set_up(self, *, code: str, username: str, password: str, organisation: str | Unset = UNSET) -> r.Me:
        """Creates the first administrator and starts a session. 409 once there is one.

        POST /auth/setup

        code: The one-time code that `make up` prints.
        username: The user name of the administrator.
        password: The administrator's password.
        organisation: An organisation to create and own.
        """
        return self._transport.record(
            r.Me,
            "POST",
            path_of("/auth/setup"),
            body={"code": code, "username": username, "password": password, "organisation": organisation},
        )

    def single_sign_on(self, *, next: str | Unset = UNSET) -> r.ProviderAddress:
        """Begins a sign-in, which is to end in this browser within ten minutes. 503 when the provider is away.

        POST /auth/single-sign-on

        next: The address of the dashboard to go to afterwards.
        """
        return self._transport.record(r.ProviderAddress, "POST", path_of("/auth/single-sign-on"), body={"next": next})

    def single_sign_on_code(
        self, *, code: str | Unset = UNSET, passkey: b.AssertionRequest | Unset | None = UNSET
    ) -> r.Me:
        """Ends a sign-in for which the provider vouched, and that waits for a code or a passkey.

        POST /auth/single-sign-on/code

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        """
        return self._transport.record(
            r.Me, "POST", path_of("/auth/single-sign-on/code"), body={"code": code, "passkey": passkey}
        )


class ClusterOperations:
    """The operations under /cluster."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> r.Cluster:
        """Racks, nodes, slots, and who is on them; jobs of other organisations have no names.

        GET /cluster
        """
        return self._transport.record(r.Cluster, "GET", path_of("/cluster"))

    def cordon(self, name: Ref, /, *, reason: str | Unset = UNSET, deadline_s: int | Unset = UNSET) -> r.Cluster:
        """cordon: nothing new starts there. drain: jobs that will not be done by the deadline move, the rest follow
        then. uncordon: it is open again. Answers with the cluster.

        POST /cluster/nodes/{name}/cordon

        reason: Why, for people who look at the cluster.
        deadline_s: Of a drain; 600 by default.
        """
        return self._transport.record(
            r.Cluster,
            "POST",
            path_of("/cluster/nodes/{name}/cordon", name=name),
            body={"reason": reason, "deadline_s": deadline_s},
        )

    def drain(self, name: Ref, /, *, reason: str | Unset = UNSET, deadline_s: int | Unset = UNSET) -> r.Cluster:
        """cordon: nothing new starts there. drain: jobs that will not be done by the deadline move, the rest follow
        then. uncordon: it is open again. Answers with the cluster.

        POST /cluster/nodes/{name}/drain

        reason: Why, for people who look at the cluster.
        deadline_s: Of a drain; 600 by default.
        """
        return self._transport.record(
            r.Cluster,
            "POST",
            path_of("/cluster/nodes/{name}/drain", name=name),
            body={"reason": reason, "deadline_s": deadline_s},
        )

    def uncordon(self, name: Ref, /, *, reason: str | Unset = UNSET, deadline_s: int | Unset = UNSET) -> r.Cluster:
        """cordon: nothing new starts there. drain: jobs that will not be done by the deadline move, the rest follow
        then. uncordon: it is open again. Answers with the cluster.

        POST /cluster/nodes/{name}/uncordon

        reason: Why, for people who look at the cluster.
        deadline_s: Of a drain; 600 by default.
        """
        return self._transport.record(
            r.Cluster,
            "POST",
            path_of("/cluster/nodes/{name}/uncordon", name=name),
            body={"reason": reason, "deadline_s": deadline_s},
        )

    def timeline(
        self,
        *,
        after: str | None = None,
        until: datetime | str | None = None,
        window: Literal["1h", "6h", "1d", "7d"] | None = None,
    ) -> r.Timeline:
        """Which job held which GPUs when, and predicted ends; jobs of other organisations have no names.

        GET /cluster/timeline

        after: Only nodes after this name: `next_after` of the page before.
        until: The window's end; without it, a quarter of the window lies ahead of now.
        window: The length of the window.
        """
        return self._transport.record(
            r.Timeline, "GET", path_of("/cluster/timeline"), query={"after": after, "until": until, "window": window}
        )


class DatasetVersionsOperations:
    """The operations under /dataset-versions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, id: Ref, /) -> r.DatasetVersion:
        """One version of a dataset, with its files, its columns and what its inspection found.

        GET /dataset-versions/{id}
        """
        return self._transport.record(r.DatasetVersion, "GET", path_of("/dataset-versions/{id}", id=id))

    def delete(self, id: Ref, /) -> None:
        """With its files; 409 while jobs use it, or when the dataset has no other version.

        DELETE /dataset-versions/{id}
        """
        self._transport.content("DELETE", path_of("/dataset-versions/{id}", id=id))

    def caches(self, id: Ref, /) -> r.DatasetCaches:
        """The nodes that have the version's files in their caches, and how much of what its jobs needed was there.

        GET /dataset-versions/{id}/caches
        """
        return self._transport.record(r.DatasetCaches, "GET", path_of("/dataset-versions/{id}/caches", id=id))

    def download_clips(self, id: Ref, number: Ref, /, *, to: str | PathLike[str]) -> Path:
        """A clip of the preview of a version of audio, as it was uploaded, by its number from 0 on; one byte range,
        and
        an entity tag to ask again. 404 for a clip that is not in the preview, and one of more than 8 MiB.

        GET /dataset-versions/{id}/clips/{number}

        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/dataset-versions/{id}/clips/{number}", id=id, number=number), to=to)

    def choose_columns(
        self,
        id: Ref,
        /,
        *,
        target: str | Unset = UNSET,
        ignore: Sequence[str] | Unset = UNSET,
        types: Mapping[str, Literal["number", "category", "date", "text", "split"]] | Unset = UNSET,
        numbers: Mapping[str, Literal["point", "comma"]] | Unset = UNSET,
        missing: Mapping[str, Literal["indicator", "fill", "drop"]] | Unset = UNSET,
    ) -> r.DatasetVersion:
        """Reads the same file by another choice of columns, without another upload. A version that waits for its
        columns takes the choice and is inspected again; of a ready one a new version over the same files is made.
        409 while it is inspected, 422 for a column that is not there.

        POST /dataset-versions/{id}/columns

        target: The column to predict; by default target, label, class or y.
        ignore: Columns that are not learned from, besides those that are left out by default.
        types: As what a column is used, by its name: number, category, date or text; or split: its rows with train
        or training are trained on, those with test, val, valid, validation or dev are held out. A column with a
        type is used even where it would be left out by default.
        numbers: Of CSV: how the numbers of a column are written, by its name, where what was found is not right.
        comma: 1.234,56 or 1 234,56; point: 1,234.56 or 1'234.56. By default as its values, the other columns and
        the delimiter show.
        missing: What becomes of missing values of a column, by its name. indicator: filled with the mean or most
        frequent value of the training rows, and marked by an input; fill: filled only; drop: the row is left out.
        """
        return self._transport.record(
            r.DatasetVersion,
            "POST",
            path_of("/dataset-versions/{id}/columns", id=id),
            body={"target": target, "ignore": ignore, "types": types, "numbers": numbers, "missing": missing},
        )

    def difference(self, id: Ref, /, *, to: str) -> r.VersionDifference:
        """From this version to another: columns, classes, files of archives and counts, from what inspection stored.
        No rows are read; `notes` say what that cannot tell.

        GET /dataset-versions/{id}/difference

        to: The id of the version that this one is compared with.
        """
        return self._transport.record(
            r.VersionDifference, "GET", path_of("/dataset-versions/{id}/difference", id=id), query={"to": to}
        )

    def download(self, id: Ref, /, *, to: str | PathLike[str], file: str | None = None) -> Path:
        """A version's file as it was uploaded; one byte range, and an entity tag to ask again. 404 after a refusal,
        since no file is kept then.

        GET /dataset-versions/{id}/download

        file: Of a version of many files: the name of the one; by default the first.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/dataset-versions/{id}/download", id=id), query={"file": file}, to=to)

    def refresh(self, id: Ref, /) -> r.DatasetVersion:
        """Looks at the version's address again: a new version of what is there now, whose source says whether it is
        another file. 409 for an uploaded version, and while the dataset is being fetched.

        POST /dataset-versions/{id}/refresh
        """
        return self._transport.record(r.DatasetVersion, "POST", path_of("/dataset-versions/{id}/refresh", id=id))

    def list_shards(self, id: Ref, /, *, page_size: int = PAGE_SIZE) -> Pages[r.Shard]:
        """The addresses of a version of many files by reference, each with what was found there; none of others.

        GET /dataset-versions/{id}/shards

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Shard, path_of("/dataset-versions/{id}/shards", id=id), size=page_size)

    def list_trained(self, id: Ref, /, *, page_size: int = PAGE_SIZE) -> Pages[r.ModelVersion]:
        """The model versions that were trained on this dataset version, newest first.

        GET /dataset-versions/{id}/trained

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.ModelVersion, path_of("/dataset-versions/{id}/trained", id=id), size=page_size)


class DatasetsOperations:
    """The operations under /datasets."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        name: str | None = None,
        organisation: str | None = None,
        project: str | None = None,
        ref: str | None = None,
        search: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Dataset]:
        """Datasets of projects that the caller sees, each with its latest version.

        GET /datasets

        name: Only the one of exactly this name.
        organisation: Only those of this organisation, by id or name.
        project: Only those of this project, by id or name.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        search: Only those whose name contains this.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Dataset,
            path_of("/datasets"),
            query={"name": name, "organisation": organisation, "project": project, "ref": ref, "search": search},
            size=page_size,
        )

    def create(
        self,
        *,
        name: str,
        project: str,
        description: str | Unset = UNSET,
        file: FileSource | Unset = UNSET,
        upload: str | Unset = UNSET,
        format: v.FormatEnum | Unset = UNSET,
        target: str | Unset = UNSET,
        text_column: str | Unset = UNSET,
        ignore: Sequence[str] | Unset = UNSET,
        targets: v.TargetsEnum | Unset = UNSET,
        image_size: int | Unset = UNSET,
        sample_rate: int | Unset = UNSET,
        clip_s: float | Unset = UNSET,
        tokenizer: v.TokenizerEnum | Unset = UNSET,
        vocabulary_size: int | Unset = UNSET,
        context_length: int | Unset = UNSET,
        documents: v.DocumentsEnum | Unset = UNSET,
    ) -> r.Dataset:
        """Uploads a dataset; its first version is then inspected. 422 when over quota or unreadable as a request.

        POST /datasets

        name: The dataset's name, unique within its project.
        project: The name or id of the project.
        description: What it is, for people.
        file: The file, or a zip of several.
        upload: In place of the file: the id of a whole upload to /uploads, which is then used up.
        format: Guessed from the file when absent.
        target: What is to be predicted: the column of a table, the field of JSON lines or of a shard's JSON files.
        text_column: Of texts in JSON lines: the field of the text; by default text.
        ignore: Columns that are not learned from, of tables; the field may be given several times.
        targets: none: there are none in the file; it is only to be predicted on. Not of text.
        image_size: Of images: pixels of a side, to which they are scaled whenever they are read; by default at most
        128, scaled once.
        sample_rate: Of audio: samples a second, to which all clips are converted; by default that of most clips, at
        most 16,000.
        clip_s: Of audio: seconds of an example. Longer clips are cut, shorter ones followed by silence; by default
        as long as the longest, at most 10.
        tokenizer: Of text: what becomes one token; by default learned byte pairs.
        vocabulary_size: Of text in words or byte pairs; by default by its length.
        context_length: Of text: tokens of an example; by default 64, and 128 of texts that are classified.
        documents: Of text: what a document is. They are packed end to end, with a token between them.
        """
        return self._transport.upload(
            r.Dataset,
            path_of("/datasets"),
            body={
                "name": name,
                "project": project,
                "description": description,
                "file": file,
                "upload": upload,
                "format": format,
                "target": target,
                "text_column": text_column,
                "ignore": ignore,
                "targets": targets,
                "image_size": image_size,
                "sample_rate": sample_rate,
                "clip_s": clip_s,
                "tokenizer": tokenizer,
                "vocabulary_size": vocabulary_size,
                "context_length": context_length,
                "documents": documents,
            },
        )

    def get(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Dataset:
        """One dataset, with its latest version.

        GET /datasets/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Dataset, "GET", path_of("/datasets/{id}", id=id), query={"organisation": organisation, "project": project}
        )

    def delete(self, id: Ref, /) -> None:
        """With all its versions; 409 while jobs use one.

        DELETE /datasets/{id}
        """
        self._transport.content("DELETE", path_of("/datasets/{id}", id=id))

    def create_version_by_reference(
        self,
        id: Ref,
        /,
        *,
        source: b.SourceRequestRequest,
        organisation: str | None = None,
        project: str | None = None,
        format: v.FormatEnum | Unset = UNSET,
        target: str | Unset = UNSET,
        text_column: str | Unset = UNSET,
        ignore: Sequence[str] | Unset = UNSET,
        targets: v.TargetsEnum | Unset = UNSET,
        image_size: int | Unset = UNSET,
        sample_rate: int | Unset = UNSET,
        clip_s: float | Unset = UNSET,
        tokenizer: v.TokenizerEnum | Unset = UNSET,
        vocabulary_size: int | Unset = UNSET,
        context_length: int | Unset = UNSET,
        documents: v.DocumentsEnum | Unset = UNSET,
    ) -> r.DatasetVersion:
        """Creates another version by reference: it is fetched from its source, then inspected.

        POST /datasets/{id}/references

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        format: Guessed from the name in the address when absent.
        target: What is to be predicted: the column of a table, the field of JSON lines or of a shard's JSON files.
        text_column: Of texts in JSON lines: the field of the text; by default text.
        ignore: Columns that are not learned from, of tables; the field may be given several times.
        targets: none: there are none in the file; it is only to be predicted on. Not of text.
        image_size: Of images: pixels of a side, to which they are scaled whenever they are read; by default at most
        128, scaled once.
        sample_rate: Of audio: samples a second, to which all clips are converted; by default that of most clips, at
        most 16,000.
        clip_s: Of audio: seconds of an example. Longer clips are cut, shorter ones followed by silence; by default
        as long as the longest, at most 10.
        tokenizer: Of text: what becomes one token; by default learned byte pairs.
        vocabulary_size: Of text in words or byte pairs; by default by its length.
        context_length: Of text: tokens of an example; by default 64, and 128 of texts that are classified.
        documents: Of text: what a document is. They are packed end to end, with a token between them.
        source: Where the file is.
        """
        return self._transport.record(
            r.DatasetVersion,
            "POST",
            path_of("/datasets/{id}/references", id=id),
            query={"organisation": organisation, "project": project},
            body={
                "format": format,
                "target": target,
                "text_column": text_column,
                "ignore": ignore,
                "targets": targets,
                "image_size": image_size,
                "sample_rate": sample_rate,
                "clip_s": clip_s,
                "tokenizer": tokenizer,
                "vocabulary_size": vocabulary_size,
                "context_length": context_length,
                "documents": documents,
                "source": source,
            },
        )

    def list_versions(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.DatasetVersion]:
        """All versions of a dataset.

        GET /datasets/{id}/versions

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.DatasetVersion,
            path_of("/datasets/{id}/versions", id=id),
            query={"organisation": organisation, "project": project},
            size=page_size,
        )

    def create_version(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        file: FileSource | Unset = UNSET,
        upload: str | Unset = UNSET,
        format: v.FormatEnum | Unset = UNSET,
        target: str | Unset = UNSET,
        text_column: str | Unset = UNSET,
        ignore: Sequence[str] | Unset = UNSET,
        targets: v.TargetsEnum | Unset = UNSET,
        image_size: int | Unset = UNSET,
        sample_rate: int | Unset = UNSET,
        clip_s: float | Unset = UNSET,
        tokenizer: v.TokenizerEnum | Unset = UNSET,
        vocabulary_size: int | Unset = UNSET,
        context_length: int | Unset = UNSET,
        documents: v.DocumentsEnum | Unset = UNSET,
    ) -> r.DatasetVersion:
        """Uploads another version, which is then inspected.

        POST /datasets/{id}/versions

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        file: The file, or a zip of several.
        upload: In place of the file: the id of a whole upload to /uploads, which is then used up.
        format: Guessed from the file when absent.
        target: What is to be predicted: the column of a table, the field of JSON lines or of a shard's JSON files.
        text_column: Of texts in JSON lines: the field of the text; by default text.
        ignore: Columns that are not learned from, of tables; the field may be given several times.
        targets: none: there are none in the file; it is only to be predicted on. Not of text.
        image_size: Of images: pixels of a side, to which they are scaled whenever they are read; by default at most
        128, scaled once.
        sample_rate: Of audio: samples a second, to which all clips are converted; by default that of most clips, at
        most 16,000.
        clip_s: Of audio: seconds of an example. Longer clips are cut, shorter ones followed by silence; by default
        as long as the longest, at most 10.
        tokenizer: Of text: what becomes one token; by default learned byte pairs.
        vocabulary_size: Of text in words or byte pairs; by default by its length.
        context_length: Of text: tokens of an example; by default 64, and 128 of texts that are classified.
        documents: Of text: what a document is. They are packed end to end, with a token between them.
        """
        return self._transport.upload(
            r.DatasetVersion,
            path_of("/datasets/{id}/versions", id=id),
            query={"organisation": organisation, "project": project},
            body={
                "file": file,
                "upload": upload,
                "format": format,
                "target": target,
                "text_column": text_column,
                "ignore": ignore,
                "targets": targets,
                "image_size": image_size,
                "sample_rate": sample_rate,
                "clip_s": clip_s,
                "tokenizer": tokenizer,
                "vocabulary_size": vocabulary_size,
                "context_length": context_length,
                "documents": documents,
            },
        )

    def create_by_reference(
        self,
        *,
        name: str,
        project: str,
        source: b.SourceRequestRequest,
        description: str | Unset = UNSET,
        format: v.FormatEnum | Unset = UNSET,
        target: str | Unset = UNSET,
        text_column: str | Unset = UNSET,
        ignore: Sequence[str] | Unset = UNSET,
        targets: v.TargetsEnum | Unset = UNSET,
        image_size: int | Unset = UNSET,
        sample_rate: int | Unset = UNSET,
        clip_s: float | Unset = UNSET,
        tokenizer: v.TokenizerEnum | Unset = UNSET,
        vocabulary_size: int | Unset = UNSET,
        context_length: int | Unset = UNSET,
        documents: v.DocumentsEnum | Unset = UNSET,
    ) -> r.Dataset:
        """Creates a dataset by reference: its first version is fetched from its source, then inspected.

        POST /datasets/references

        name: The dataset's name, unique within its project.
        project: The name or id of the project.
        description: What it is, for people.
        format: Guessed from the name in the address when absent.
        target: What is to be predicted: the column of a table, the field of JSON lines or of a shard's JSON files.
        text_column: Of texts in JSON lines: the field of the text; by default text.
        ignore: Columns that are not learned from, of tables; the field may be given several times.
        targets: none: there are none in the file; it is only to be predicted on. Not of text.
        image_size: Of images: pixels of a side, to which they are scaled whenever they are read; by default at most
        128, scaled once.
        sample_rate: Of audio: samples a second, to which all clips are converted; by default that of most clips, at
        most 16,000.
        clip_s: Of audio: seconds of an example. Longer clips are cut, shorter ones followed by silence; by default
        as long as the longest, at most 10.
        tokenizer: Of text: what becomes one token; by default learned byte pairs.
        vocabulary_size: Of text in words or byte pairs; by default by its length.
        context_length: Of text: tokens of an example; by default 64, and 128 of texts that are classified.
        documents: Of text: what a document is. They are packed end to end, with a token between them.
        source: Where the file is.
        """
        return self._transport.record(
            r.Dataset,
            "POST",
            path_of("/datasets/references"),
            body={
                "name": name,
                "project": project,
                "description": description,
                "format": format,
                "target": target,
                "text_column": text_column,
                "ignore": ignore,
                "targets": targets,
                "image_size": image_size,
                "sample_rate": sample_rate,
                "clip_s": clip_s,
                "tokenizer": tokenizer,
                "vocabulary_size": vocabulary_size,
                "context_length": context_length,
                "documents": documents,
                "source": source,
            },
        )


class DeliveriesOperations:
    """The operations under /deliveries."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, id: Ref, /) -> r.Delivery:
        """Sends a delivery that ended once more, or one that waits for its next attempt now, under the same id.

        POST /deliveries/{id}/send
        """
        return self._transport.record(r.Delivery, "POST", path_of("/deliveries/{id}/send", id=id))


class EnvironmentsOperations:
    """The operations under /environments."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        organisation: str | None = None,
        state: Literal["building", "failed", "ready"] | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Environment]:
        """Environments of the caller's organisations, newest first.

        GET /environments

        organisation: Only those of this organisation, by id or name.
        state: Only those in this state.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Environment,
            path_of("/environments"),
            query={"organisation": organisation, "state": state},
            size=page_size,
        )

    def get(self, id: Ref, /) -> r.Environment:
        """One environment: the packages of code, and how far their build is.

        GET /environments/{id}
        """
        return self._transport.record(r.Environment, "GET", path_of("/environments/{id}", id=id))

    def delete(self, id: Ref, /) -> None:
        """Deletes an environment that no code requires, with its layer: 409 names the code that does. For those who
        may
        upload code that requires it.

        DELETE /environments/{id}
        """
        self._transport.content("DELETE", path_of("/environments/{id}", id=id))

    def build(self, id: Ref, /) -> r.Environment:
        """Builds an environment again whose build failed or was stopped. For those who may upload code that requires
        it.

        POST /environments/{id}/build
        """
        return self._transport.record(r.Environment, "POST", path_of("/environments/{id}/build", id=id))

    def log(self, id: Ref, /) -> r.EnvironmentLog:
        """The log of the environment's newest build.

        GET /environments/{id}/log
        """
        return self._transport.record(r.EnvironmentLog, "GET", path_of("/environments/{id}/log", id=id))

    def stop(self, id: Ref, /) -> r.Environment:
        """Stops the build, whether it waits or runs; stopped again it changes nothing. What waits for it is refused
        with that cause. For those who may upload code that requires it.

        POST /environments/{id}/stop
        """
        return self._transport.record(r.Environment, "POST", path_of("/environments/{id}/stop", id=id))


class EventsOperations:
    """The operations under /events."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        actor: str | None = None,
        kind: str | None = None,
        kind_prefix: str | None = None,
        organisation: str | None = None,
        since: datetime | str | None = None,
        subject: str | None = None,
        until: datetime | str | None = None,
        username: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Event]:
        """Newest first: who did what, in the organisations that one belongs to.

        GET /events

        actor: Only what the user of this name did; also one that was deleted since.
        kind: Only events of this kind, such as job.submitted.
        kind_prefix: Only events whose kind begins so, such as session. or token.
        organisation: Only those of this organisation, by id or name.
        since: Only events of this time and later.
        subject: Only what happened to the object of this id.
        until: Only events before this time.
        username: Only what happened to this user name, such as refused attempts to sign in.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Event,
            path_of("/events"),
            query={
                "actor": actor,
                "kind": kind,
                "kind_prefix": kind_prefix,
                "organisation": organisation,
                "since": since,
                "subject": subject,
                "until": until,
                "username": username,
            },
            size=page_size,
        )

    def download_export(
        self,
        *,
        to: str | PathLike[str],
        actor: str | None = None,
        form: Literal["csv", "jsonl"] | None = None,
        kind: str | None = None,
        kind_prefix: str | None = None,
        organisation: str | None = None,
        since: datetime | str | None = None,
        subject: str | None = None,
        until: datetime | str | None = None,
        username: str | None = None,
    ) -> Path:
        """The events that the filters leave, oldest first, as a file: who, what, before, after, from where, and hash.

        422 when there are more than 50,000: narrow them by `since` and `until`.

        GET /events/export

        actor: Only what the user of this name did; also one that was deleted since.
        form: csv, or jsonl: JSON lines.
        kind: Only events of this kind, such as job.submitted.
        kind_prefix: Only events whose kind begins so, such as session. or token.
        organisation: Only those of this organisation, by id or name.
        since: Only events of this time and later.
        subject: Only what happened to the object of this id.
        until: Only events before this time.
        username: Only what happened to this user name, such as refused attempts to sign in.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/events/export"),
            query={
                "actor": actor,
                "form": form,
                "kind": kind,
                "kind_prefix": kind_prefix,
                "organisation": organisation,
                "since": since,
                "subject": subject,
                "until": until,
                "username": username,
            },
            to=to,
        )

    def verify(self, *, expect: str | None = None) -> r.Verification:
        """Whether any event was changed, deleted or inserted since it was written; it reads all of them.

        Keep the head elsewhere: given back as `expect`, it finds a chain that was rewritten as a whole.

        GET /events/verify

        expect: A head of earlier, which must still be in the chain.
        """
        return self._transport.record(r.Verification, "GET", path_of("/events/verify"), query={"expect": expect})


class IngestOperations:
    """The operations under /ingest."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def agents_caches(
        self, *, instance: str, projects: Sequence[str], inputs: Sequence[b.HeldInputsRequest]
    ) -> r.DeletedCaches:
        """Takes what an agent's machine has cached, and answers which of that was deleted and is to be removed there.
        For agents alone.

        POST /ingest/agents/caches

        instance: Of the agent, as in its reports.
        projects: The projects that have a cache there.
        inputs: What of them is asked about.
        """
        return self._transport.record(
            r.DeletedCaches,
            "POST",
            path_of("/ingest/agents/caches"),
            body={"instance": instance, "projects": projects, "inputs": inputs},
        )

    def agents_news(self, *, state: str | None = None) -> r.News:
        """Waits until the agent's orders differ from those that it knows, for 25 s at most. For agents alone.

        GET /ingest/agents/news

        state: The state of the orders that the agent knows.
        """
        return self._transport.record(r.News, "GET", path_of("/ingest/agents/news"), query={"state": state})

    def agents_sync(
        self,
        *,
        protocol: int,
        version: str,
        python: str,
        now: float,
        address: str,
        node: Mapping[str, Any],
        problem: str,
        gangs: Sequence[Mapping[str, Any]],
        instance: str,
    ) -> r.Orders:
        """Takes an agent's report, and answers with all that is to be on its machine: with the secrets of its own pods
        that have not launched yet, and of no others.

        POST /ingest/agents/sync

        protocol: The protocol that it speaks.
        version: Its version of MLHub.
        python: Its version of Python, and the kind of its processor.
        now: The time by its clock, in seconds since 1970.
        address: Where its pods listen; empty: where the request comes from.
        node: The machine as a node.
        problem: Why no pod may start there; empty: none.
        gangs: What became of each gang there.
        instance: Differs between any two agents that run at a time.
        """
        return self._transport.record(
            r.Orders,
            "POST",
            path_of("/ingest/agents/sync"),
            body={
                "protocol": protocol,
                "version": version,
                "python": python,
                "now": now,
                "address": address,
                "node": node,
                "problem": problem,
                "gangs": gangs,
                "instance": instance,
            },
        )

    def set_attempts_artifact(self, id: Ref, name: Ref, content: bytes, /) -> None:
        """A result file; the header X-Content-SHA256 names its hash. The same bytes again are answered 200.

        PUT /ingest/attempts/{id}/artifacts/{name}
        """
        self._transport.content(
            "PUT", path_of("/ingest/attempts/{id}/artifacts/{name}", id=id, name=name), content=content
        )

    def download_attempts_blobs(self, id: Ref, sha256: Ref, /, *, to: str | PathLike[str]) -> Path:
        """An input of this very attempt, for pods that do not share a disk with the platform.

        307: it is in an object store that pods reach; the address is good for five minutes.

        GET /ingest/attempts/{id}/blobs/{sha256}

        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/ingest/attempts/{id}/blobs/{sha256}", id=id, sha256=sha256), to=to)

    def attempts_deleted_inputs(self, id: Ref, /, *, sha256s: Sequence[str]) -> r.CachedInputs:
        """Of hashes of inputs that a volume of the attempt's project has, those that the project no longer refers to.

        For a while after a restore there are none: what is cached may be newer than the backup.

        POST /ingest/attempts/{id}/deleted-inputs

        sha256s: Hashes of inputs.
        """
        return self._transport.record(
            r.CachedInputs, "POST", path_of("/ingest/attempts/{id}/deleted-inputs", id=id), body={"sha256s": sha256s}
        )

    def attempts_reports(
        self,
        id: Ref,
        /,
        *,
        version: v.VersionEnum,
        role: v.PodRole,
        index: int,
        stream: v.StreamEnum,
        first: int,
        lines: Sequence[Any],
    ) -> r.Next:
        """Numbered lines of one stream; each is stored once. 409: lines are missing, send from `next`.

        POST /ingest/attempts/{id}/reports

        version: The version of the protocol.
        role: The role of the pod that sends.
        index: The pod's index within its role.
        stream: The stream: reports, log or usage.
        first: The number of the first line.
        lines: The lines: JSON objects of reports and usage, text of the log.
        """
        return self._transport.record(
            r.Next,
            "POST",
            path_of("/ingest/attempts/{id}/reports", id=id),
            body={"version": version, "role": role, "index": index, "stream": stream, "first": first, "lines": lines},
        )

    def sandbox_runs(self, id: Ref, /) -> r.SandboxTask:
        """What the run does.

        GET /ingest/sandbox-runs/{id}
        """
        return self._transport.record(r.SandboxTask, "GET", path_of("/ingest/sandbox-runs/{id}", id=id))

    def download_sandbox_runs_blobs(self, id: Ref, sha256: Ref, /, *, to: str | PathLike[str]) -> Path:
        """A file that this very run reads. It passes through the web even where a bucket keeps it: the pod of a run
        reaches nothing else.

        GET /ingest/sandbox-runs/{id}/blobs/{sha256}

        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/ingest/sandbox-runs/{id}/blobs/{sha256}", id=id, sha256=sha256), to=to
        )

    def sandbox_runs_outcome(
        self,
        id: Ref,
        /,
        *,
        version: int,
        exit_code: int,
        output: str,
        printed: str,
        end: v.EndEnum,
        proof: str,
        is_cut: bool,
    ) -> None:
        """How the run ended. The first report counts, and ends the run.

        POST /ingest/sandbox-runs/{id}/outcome

        version: The version of this message.
        exit_code: The exit status; negative for a signal.
        output: The program's answer.
        printed: The end of what it printed otherwise.
        end: Which limit ended it, if one did.
        proof: How that was found out, in words.
        is_cut: Whether more was printed than is sent.
        """
        self._transport.content(
            "POST",
            path_of("/ingest/sandbox-runs/{id}/outcome", id=id),
            body={
                "version": version,
                "exit_code": exit_code,
                "output": output,
                "printed": printed,
                "end": end,
                "proof": proof,
                "is_cut": is_cut,
            },
        )


class InvitationsOperations:
    """The operations under /invitations."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int = PAGE_SIZE) -> Pages[r.MyInvitation]:
        """Invitations that wait for the caller's answer.

        GET /invitations

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.MyInvitation, path_of("/invitations"), size=page_size)

    def delete(self, id: Ref, /) -> None:
        """Withdraws the invitation; for admins of the organisation that sent it.

        DELETE /invitations/{id}
        """
        self._transport.content("DELETE", path_of("/invitations/{id}", id=id))

    def accept(self, id: Ref, /) -> r.MyMembership:
        """Makes the caller a member.

        POST /invitations/{id}/accept
        """
        return self._transport.record(r.MyMembership, "POST", path_of("/invitations/{id}/accept", id=id))

    def decline(self, id: Ref, /) -> None:
        """Refuses the invitation, for good.

        POST /invitations/{id}/decline
        """
        self._transport.content("POST", path_of("/invitations/{id}/decline", id=id))


class JobTagsOperations:
    """The operations under /job-tags."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> ApiRows[r.Tag]:
        """The tags of the jobs that the caller may see, the most used first.

        GET /job-tags
        """
        return self._transport.rows(r.Tag, "GET", path_of("/job-tags"))


class JobsOperations:
    """The operations under /jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        dataset_version: Any | None = None,
        fields: str | None = None,
        id: Sequence[str] | None = None,
        kind: Literal["evaluate", "notebook", "predict", "train"] | None = None,
        name: str | None = None,
        organisation: str | None = None,
        owner: str | None = None,
        project: str | None = None,
        ref: str | None = None,
        search: str | None = None,
        sort: Literal[
            "created", "-created", "name", "-name", "state", "-state", "finish", "-finish", "gpu_hours", "-gpu_hours"
        ]
        | None = None,
        state: Sequence[
            Literal["cancelled", "failed", "paused", "queued", "running", "starting", "stopping", "succeeded"]
        ]
        | None = None,
        tag: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Job]:
        """The jobs that the caller may see, the newest first, or sorted and filtered as the query says.

        GET /jobs

        dataset_version: Only those that read this dataset version, also as a further dataset.
        fields: Only these members of each row, separated by commas, such as id,name,state; all when absent.
        id: Only those of these ids, separated by commas; at most 200.
        kind: * `train` - Train * `predict` - Predict * `evaluate` - Evaluate * `notebook` - Notebook
        name: Only the one of exactly this name.
        organisation: Only those of this organisation, by id or name.
        owner: Only those that the person of this user name submitted.
        project: Only those of this project, by id or name.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        search: Only those of which each word is in the name, owner, model or dataset, or begins the id.
        sort: What the rows are sorted by, with a minus the greatest first; -created when absent.
        state: * `queued` - queued * `starting` - starting * `running` - running * `stopping` - stopping * `paused`
        - paused * `succeeded` - succeeded * `failed` - failed * `cancelled` - cancelled
        tag: Only those with all of these tags, with commas.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Job,
            path_of("/jobs"),
            query={
                "dataset_version": dataset_version,
                "fields": fields,
                "id": joined(id),
                "kind": kind,
                "name": name,
                "organisation": organisation,
                "owner": owner,
                "project": project,
                "ref": ref,
                "search": search,
                "sort": sort,
                "state": state,
                "tag": tag,
            },
            size=page_size,
        )

    def submit(
        self,
        *,
        name: str | Unset = UNSET,
        epochs: int | Unset = UNSET,
        batch_size: int | Mapping[str, Any] | Unset = UNSET,
        hyperparameters: Mapping[str, Any] | Unset = UNSET,
        mode: v.ModeEnum | Unset = UNSET,
        strategy: Mapping[str, Any] | Unset = UNSET,
        min_workers: int | Unset = UNSET,
        max_workers: int | Unset = UNSET,
        priority: int | Unset = UNSET,
        resources: b.ResourcesRequest | Unset = UNSET,
        limits: b.LimitsRequest | Unset = UNSET,
        environment: Mapping[str, str] | Unset = UNSET,
        secrets: Sequence[str] | Unset = UNSET,
        image: str | Unset = UNSET,
        seed: int | Unset = UNSET,
        target_metric: str | Unset = UNSET,
        target_value: float | Unset | None = UNSET,
        kind: v.JobKind | Unset = UNSET,
        dataset: str | Unset = UNSET,
        dataset_version: str | Unset = UNSET,
        datasets: Mapping[str, str] | Unset = UNSET,
        model: str | Unset = UNSET,
        model_version: str | Unset = UNSET,
        project: str | Unset = UNSET,
        model_of: str | Unset = UNSET,
        features: Sequence[str] | Unset = UNSET,
        output: v.OutputEnum | Unset = UNSET,
        examples: v.ExamplesEnum | Unset = UNSET,
        idempotency_key: str = "",
    ) -> r.Job:
        """Submits a job. 422 names what can never run, 409 what is not ready yet.

        POST /jobs

        name: The job's name; by default those of model and dataset, of a clone that of the original.
        epochs: How often training passes over the dataset; by default by its size.
        batch_size: The global batch size, in examples; or the range in which the scheduler chooses it.
        hyperparameters: Hyperparameters of the training loop and of the model, by name.
        mode: How workers exchange gradients; auto: the scheduler's choice.
        strategy: Such as {"name": "ssp", "staleness": 3}; /api/v1/strategies lists them.
        min_workers: The least number of workers.
        max_workers: The most workers.
        priority: The priority, -100 to 100; higher goes first.
        resources: What each pod gets; by default what was measured.
        limits: When the platform ends the job.
        environment: Environment variables of the job's pods, such as {"TOKENIZERS_PARALLELISM": "false"}.
        secrets: Names of the project's secrets that the job's pods get as environment variables.
        image: On Kubernetes: a container image of the job's workers, registry.example.org/team/train:1.4; empty:
        the platform's.
        seed: The seed of all random numbers.
        target_metric: The metric to reach, such as eval/accuracy; goes with target_value.
        target_value: The value of target_metric to reach.
        kind: By default train.
        dataset: Its name or id; its latest ready version is used. A script may do without.
        dataset_version: The id of a dataset version, instead of dataset.
        datasets: Of a script: further datasets by the names under which it finds them as folders (letters, digits,
        _): each the name or id of a dataset, whose latest ready version is used, or the id of a version.
        model: Its name or id; its latest uploaded version is used. NAME:3 or NAME@ALIAS: that version.
        model_version: The id of a model version, instead of model.
        project: Its name or id; by default the dataset's; required without one.
        model_of: A training job that succeeded, to predict or evaluate with what it trained.
        features: Of predict: layers whose outputs are wanted instead of predictions.
        output: Of predict: by default parquet.
        examples: Of predict and evaluate: by default all.
        idempotency_key: a new one by default, with which the request is repeated after a cut.
        """
        return self._transport.record(
            r.Job,
            "POST",
            path_of("/jobs"),
            body={
                "name": name,
                "epochs": epochs,
                "batch_size": batch_size,
                "hyperparameters": hyperparameters,
                "mode": mode,
                "strategy": strategy,
                "min_workers": min_workers,
                "max_workers": max_workers,
                "priority": priority,
                "resources": resources,
                "limits": limits,
                "environment": environment,
                "secrets": secrets,
                "image": image,
                "seed": seed,
                "target_metric": target_metric,
                "target_value": target_value,
                "kind": kind,
                "dataset": dataset,
                "dataset_version": dataset_version,
                "datasets": datasets,
                "model": model,
                "model_version": model_version,
                "project": project,
                "model_of": model_of,
                "features": features,
                "output": output,
                "examples": examples,
            },
            key=idempotency_key or new_key(),
        )

    def get(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.JobDetail:
        """One job, with what it was asked for, its state and the reason for that.

        GET /jobs/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.JobDetail, "GET", path_of("/jobs/{id}", id=id), query={"organisation": organisation, "project": project}
        )

    def update(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        priority: int | Unset = UNSET,
        min_workers: int | Unset = UNSET,
        max_workers: int | Unset = UNSET,
        n_workers: int | Unset = UNSET,
        gpu_types: Sequence[str] | Unset = UNSET,
        tags: Sequence[str] | Unset = UNSET,
        notes: str | Unset = UNSET,
    ) -> r.Job:
        """Changes its priority or what it asks of the cluster, which the next scheduling round sees; tags and notes.

        PATCH /jobs/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        priority: The priority, -100 to 100; higher goes first.
        min_workers: The least number of workers.
        max_workers: The most workers.
        n_workers: What policies of fixed sizes give, from min_workers to max_workers.
        gpu_types: The types of GPU that the job may run on; an empty list: any.
        tags: The job's tags, in place of those it has.
        notes: What is to be remembered about the job, as text.
        """
        return self._transport.record(
            r.Job,
            "PATCH",
            path_of("/jobs/{id}", id=id),
            query={"organisation": organisation, "project": project},
            body={
                "priority": priority,
                "min_workers": min_workers,
                "max_workers": max_workers,
                "n_workers": n_workers,
                "gpu_types": gpu_types,
                "tags": tags,
                "notes": notes,
            },
        )

    def delete(self, id: Ref, /) -> None:
        """With its curves, log, predictions and checkpoints; the model that it trained stays. 409 while it is live.

        DELETE /jobs/{id}
        """
        self._transport.content("DELETE", path_of("/jobs/{id}", id=id))

    def list_artifacts(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> ApiRows[r.Artifact]:
        """Files that people download from the job, by name: its predictions, or what its script left.

        GET /jobs/{id}/artifacts

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.rows(
            r.Artifact,
            "GET",
            path_of("/jobs/{id}/artifacts", id=id),
            query={"organisation": organisation, "project": project},
        )

    def download_artifact(
        self,
        id: Ref,
        name: Ref,
        /,
        *,
        to: str | PathLike[str],
        organisation: str | None = None,
        project: str | None = None,
    ) -> Path:
        """One of the job's files; one byte range, and an entity tag to ask again.

        GET /jobs/{id}/artifacts/{name}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/jobs/{id}/artifacts/{name}", id=id, name=name),
            query={"organisation": organisation, "project": project},
            to=to,
        )

    def cancel(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Job:
        """Ends the job for good; asked again it changes nothing.

        POST /jobs/{id}/cancel

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Job, "POST", path_of("/jobs/{id}/cancel", id=id), query={"organisation": organisation, "project": project}
        )

    def list_checkpoints(
        self,
        id: Ref,
        /,
        *,
        after: int | None = None,
        limit: int | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> ApiRows[r.Checkpoint]:
        """The checkpoints that are there, newest first.

        GET /jobs/{id}/checkpoints

        after: Only those that come after the checkpoint of this id: the last one of the answer before.
        limit: How many at most; an answer with fewer is the last one.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.rows(
            r.Checkpoint,
            "GET",
            path_of("/jobs/{id}/checkpoints", id=id),
            query={"after": after, "limit": limit, "organisation": organisation, "project": project},
        )

    def update_checkpoint(
        self,
        id: Ref,
        checkpoint: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        is_pinned: bool | Unset = UNSET,
    ) -> r.Checkpoint:
        """Pins a checkpoint, so that neither the training nor the retention removes it, or unpins it.

        PATCH /jobs/{id}/checkpoints/{checkpoint}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        is_pinned: Whether the checkpoint shall stay until a person deletes it.
        """
        return self._transport.record(
            r.Checkpoint,
            "PATCH",
            path_of("/jobs/{id}/checkpoints/{checkpoint}", id=id, checkpoint=checkpoint),
            query={"organisation": organisation, "project": project},
            body={"is_pinned": is_pinned},
        )

    def download_weights(
        self,
        id: Ref,
        checkpoint: Ref,
        /,
        *,
        to: str | PathLike[str],
        organisation: str | None = None,
        project: str | None = None,
    ) -> Path:
        """The checkpoint's weights as safetensors; one byte range, and an entity tag to ask again.

        GET /jobs/{id}/checkpoints/{checkpoint}/weights

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/jobs/{id}/checkpoints/{checkpoint}/weights", id=id, checkpoint=checkpoint),
            query={"organisation": organisation, "project": project},
            to=to,
        )

    def delete_checkpoints(self, id: Ref, /, *, checkpoints: Sequence[int]) -> None:
        """Deletes these checkpoints, all or none. 409 for a pinned one, and for one that a live job needs.

        POST /jobs/{id}/checkpoints/delete

        checkpoints: The ids of the checkpoints to delete.
        """
        self._transport.content(
            "POST", path_of("/jobs/{id}/checkpoints/delete", id=id), body={"checkpoints": checkpoints}
        )

    def clone(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        name: str | Unset = UNSET,
        epochs: int | Unset = UNSET,
        batch_size: int | Mapping[str, Any] | Unset = UNSET,
        hyperparameters: Mapping[str, Any] | Unset = UNSET,
        mode: v.ModeEnum | Unset = UNSET,
        strategy: Mapping[str, Any] | Unset = UNSET,
        min_workers: int | Unset = UNSET,
        max_workers: int | Unset = UNSET,
        priority: int | Unset = UNSET,
        resources: b.ResourcesRequest | Unset = UNSET,
        limits: b.LimitsRequest | Unset = UNSET,
        environment: Mapping[str, str] | Unset = UNSET,
        secrets: Sequence[str] | Unset = UNSET,
        image: str | Unset = UNSET,
        seed: int | Unset = UNSET,
        target_metric: str | Unset = UNSET,
        target_value: float | Unset | None = UNSET,
    ) -> r.Job:
        """A new job with the same request, but for the fields in the body.

        POST /jobs/{id}/clone

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        name: The job's name; by default those of model and dataset, of a clone that of the original.
        epochs: How often training passes over the dataset; by default by its size.
        batch_size: The global batch size, in examples; or the range in which the scheduler chooses it.
        hyperparameters: Hyperparameters of the training loop and of the model, by name.
        mode: How workers exchange gradients; auto: the scheduler's choice.
        strategy: Such as {"name": "ssp", "staleness": 3}; /api/v1/strategies lists them.
        min_workers: The least number of workers.
        max_workers: The most workers.
        priority: The priority, -100 to 100; higher goes first.
        resources: What each pod gets; by default what was measured.
        limits: When the platform ends the job.
        environment: Environment variables of the job's pods, such as {"TOKENIZERS_PARALLELISM": "false"}.
        secrets: Names of the project's secrets that the job's pods get as environment variables.
        image: On Kubernetes: a container image of the job's workers, registry.example.org/team/train:1.4; empty:
        the platform's.
        seed: The seed of all random numbers.
        target_metric: The metric to reach, such as eval/accuracy; goes with target_value.
        target_value: The value of target_metric to reach.
        """
        return self._transport.record(
            r.Job,
            "POST",
            path_of("/jobs/{id}/clone", id=id),
            query={"organisation": organisation, "project": project},
            body={
                "name": name,
                "epochs": epochs,
                "batch_size": batch_size,
                "hyperparameters": hyperparameters,
                "mode": mode,
                "strategy": strategy,
                "min_workers": min_workers,
                "max_workers": max_workers,
                "priority": priority,
                "resources": resources,
                "limits": limits,
                "environment": environment,
                "secrets": secrets,
                "image": image,
                "seed": seed,
                "target_metric": target_metric,
                "target_value": target_value,
            },
        )

    def deletion(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Deletion:
        """What would go and what would stay if the job were deleted now, or why that is refused.

        GET /jobs/{id}/deletion

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Deletion,
            "GET",
            path_of("/jobs/{id}/deletion", id=id),
            query={"organisation": organisation, "project": project},
        )

    def difference(
        self, id: Ref, /, *, to: str, organisation: str | None = None, project: str | None = None
    ) -> r.JobDifference:
        """From this job to another: settings that differ, and diffs of the code's text files, of bounded size.

        GET /jobs/{id}/difference

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: The id of the job that this one is compared with.
        """
        return self._transport.record(
            r.JobDifference,
            "GET",
            path_of("/jobs/{id}/difference", id=id),
            query={"organisation": organisation, "project": project, "to": to},
        )

    def list_events(
        self,
        id: Ref,
        /,
        *,
        after: int | None = None,
        organisation: str | None = None,
        project: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Event]:
        """A job's story, oldest first.

        GET /jobs/{id}/events

        after: Only events with a greater id.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Event,
            path_of("/jobs/{id}/events", id=id),
            query={"after": after, "organisation": organisation, "project": project},
            size=page_size,
        )

    def fork(
        self,
        id: Ref,
        /,
        *,
        checkpoint: int,
        organisation: str | None = None,
        project: str | None = None,
        name: str | Unset = UNSET,
        epochs: int | Unset = UNSET,
        batch_size: int | Mapping[str, Any] | Unset = UNSET,
        hyperparameters: Mapping[str, Any] | Unset = UNSET,
        mode: v.ModeEnum | Unset = UNSET,
        strategy: Mapping[str, Any] | Unset = UNSET,
        min_workers: int | Unset = UNSET,
        max_workers: int | Unset = UNSET,
        priority: int | Unset = UNSET,
        resources: b.ResourcesRequest | Unset = UNSET,
        limits: b.LimitsRequest | Unset = UNSET,
        environment: Mapping[str, str] | Unset = UNSET,
        secrets: Sequence[str] | Unset = UNSET,
        image: str | Unset = UNSET,
        seed: int | Unset = UNSET,
        target_metric: str | Unset = UNSET,
        target_value: float | Unset | None = UNSET,
    ) -> r.Job:
        """A new job with the same request that starts from a checkpoint's weights, but for the fields in the body.

        POST /jobs/{id}/fork

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        name: The job's name; by default those of model and dataset, of a clone that of the original.
        epochs: How often training passes over the dataset; by default by its size.
        batch_size: The global batch size, in examples; or the range in which the scheduler chooses it.
        hyperparameters: Hyperparameters of the training loop and of the model, by name.
        mode: How workers exchange gradients; auto: the scheduler's choice.
        strategy: Such as {"name": "ssp", "staleness": 3}; /api/v1/strategies lists them.
        min_workers: The least number of workers.
        max_workers: The most workers.
        priority: The priority, -100 to 100; higher goes first.
        resources: What each pod gets; by default what was measured.
        limits: When the platform ends the job.
        environment: Environment variables of the job's pods, such as {"TOKENIZERS_PARALLELISM": "false"}.
        secrets: Names of the project's secrets that the job's pods get as environment variables.
        image: On Kubernetes: a container image of the job's workers, registry.example.org/team/train:1.4; empty:
        the platform's.
        seed: The seed of all random numbers.
        target_metric: The metric to reach, such as eval/accuracy; goes with target_value.
        target_value: The value of target_metric to reach.
        checkpoint: The id of the checkpoint to start from.
        """
        return self._transport.record(
            r.Job,
            "POST",
            path_of("/jobs/{id}/fork", id=id),
            query={"organisation": organisation, "project": project},
            body={
                "name": name,
                "epochs": epochs,
                "batch_size": batch_size,
                "hyperparameters": hyperparameters,
                "mode": mode,
                "strategy": strategy,
                "min_workers": min_workers,
                "max_workers": max_workers,
                "priority": priority,
                "resources": resources,
                "limits": limits,
                "environment": environment,
                "secrets": secrets,
                "image": image,
                "seed": seed,
                "target_metric": target_metric,
                "target_value": target_value,
                "checkpoint": checkpoint,
            },
        )

    def log_page(
        self,
        id: Ref,
        /,
        *,
        after: int | None = None,
        at: datetime | str | None = None,
        attempt: int | None = None,
        before: int | None = None,
        errors: bool | None = None,
        index: int | None = None,
        is_regex: bool | None = None,
        limit: int | None = None,
        organisation: str | None = None,
        project: str | None = None,
        role: Literal["worker", "server"] | None = None,
        search: str | None = None,
    ) -> r.Log:
        """Log lines after or before a seq or from a time on, oldest first; without any of them, from the beginning.

        GET /jobs/{id}/logs

        after: Only lines with a greater seq: the first ones.
        at: Only lines from this time on: the first ones.
        attempt: Only lines of the attempt of this number.
        before: Only lines with a lesser seq: the last ones. Any number above all, such as 9007199254740991, gives
        the newest lines.
        errors: Only lines that hold an error. With `after` and a `limit` of 1: the next error.
        index: Only lines of pods of this index.
        is_regex: Whether `search` is a regular expression of PostgreSQL; it is ended after 5 s.
        limit: The most lines of an answer. An answer of long lines has fewer: it stays below 200 kB.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        role: Only lines of pods of this role.
        search: Only lines that contain this text, in any case.
        """
        return self._transport.record(
            r.Log,
            "GET",
            path_of("/jobs/{id}/logs", id=id),
            query={
                "after": after,
                "at": at,
                "attempt": attempt,
                "before": before,
                "errors": errors,
                "index": index,
                "is_regex": is_regex,
                "limit": limit,
                "organisation": organisation,
                "project": project,
                "role": role,
                "search": search,
            },
        )

    def download_logs(
        self,
        id: Ref,
        /,
        *,
        to: str | PathLike[str],
        attempt: int | None = None,
        index: int | None = None,
        is_regex: bool | None = None,
        organisation: str | None = None,
        project: str | None = None,
        role: Literal["worker", "server"] | None = None,
        search: str | None = None,
    ) -> Path:
        """The log as a text file, or what the filter leaves of it: one line each, after the name of its pod.

        GET /jobs/{id}/logs/download

        attempt: Only lines of the attempt of this number.
        index: Only lines of pods of this index.
        is_regex: Whether `search` is a regular expression of PostgreSQL; it is ended after 5 s.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        role: Only lines of pods of this role.
        search: Only lines that contain this text, in any case.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/jobs/{id}/logs/download", id=id),
            query={
                "attempt": attempt,
                "index": index,
                "is_regex": is_regex,
                "organisation": organisation,
                "project": project,
                "role": role,
                "search": search,
            },
            to=to,
        )

    def logs_overview(
        self,
        id: Ref,
        /,
        *,
        attempt: int | None = None,
        index: int | None = None,
        is_regex: bool | None = None,
        organisation: str | None = None,
        project: str | None = None,
        role: Literal["worker", "server"] | None = None,
        search: str | None = None,
        sections: int | None = None,
    ) -> r.LogOverview:
        """Where in the whole log errors are, and what a search finds: counts by sections of equal length.

        GET /jobs/{id}/logs/overview

        attempt: Only lines of the attempt of this number.
        index: Only lines of pods of this index.
        is_regex: Whether `search` is a regular expression of PostgreSQL; it is ended after 5 s.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        role: Only lines of pods of this role.
        search: Only lines that contain this text, in any case.
        sections: How many sections of equal length the log is divided into.
        """
        return self._transport.record(
            r.LogOverview,
            "GET",
            path_of("/jobs/{id}/logs/overview", id=id),
            query={
                "attempt": attempt,
                "index": index,
                "is_regex": is_regex,
                "organisation": organisation,
                "project": project,
                "role": role,
                "search": search,
                "sections": sections,
            },
        )

    def metrics(
        self,
        id: Ref,
        /,
        *,
        after: str | None = None,
        exact: bool | None = None,
        first_step: int | None = None,
        key: str | None = None,
        last_step: int | None = None,
        max_points: int | None = None,
        organisation: str | None = None,
        project: str | None = None,
        since: int | None = None,
    ) -> r.Metrics:
        """The curves that count: where a later attempt trained a step again, its point stands.

        Long curves are thinned to the lowest and highest point of each stretch of steps; ask for a range of steps
        to
        see more of it. The entity tag changes with the points that are stored.

        GET /jobs/{id}/metrics

        after: Only metrics behind this name.
        exact: With `key`: no point is left out; an answer has the first `max_points`, `next_step` the rest.
        first_step: Only points from this step on.
        key: Only this metric, such as train/loss.
        last_step: Only points up to this step.
        max_points: The most points of a curve; longer ones are thinned. An answer has at most 1600 points in all;
        `next` names where the other curves begin.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        since: Only points that were stored after this seq, the second number of a cursor.
        """
        return self._transport.record(
            r.Metrics,
            "GET",
            path_of("/jobs/{id}/metrics", id=id),
            query={
                "after": after,
                "exact": exact,
                "first_step": first_step,
                "key": key,
                "last_step": last_step,
                "max_points": max_points,
                "organisation": organisation,
                "project": project,
                "since": since,
            },
        )

    def metrics_names(
        self,
        id: Ref,
        /,
        *,
        after: str | None = None,
        limit: int | None = None,
        organisation: str | None = None,
        project: str | None = None,
        search: str | None = None,
    ) -> r.MetricNames:
        """The names of the job's metrics with their newest values, without their curves.

        GET /jobs/{id}/metrics/names

        after: Only metrics behind this name.
        limit: The most names of an answer.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        search: Only metrics whose name contains this, in any case.
        """
        return self._transport.record(
            r.MetricNames,
            "GET",
            path_of("/jobs/{id}/metrics/names", id=id),
            query={"after": after, "limit": limit, "organisation": organisation, "project": project, "search": search},
        )

    def notebook(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Notebook:
        """How the notebook stands. 404 for a job that is none.

        GET /jobs/{id}/notebook

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Notebook,
            "GET",
            path_of("/jobs/{id}/notebook", id=id),
            query={"organisation": organisation, "project": project},
        )

    def create_notebook(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> r.NotebookAddress:
        """An address for the caller's browser, for one use. 409 while the notebook does not answer.

        POST /jobs/{id}/notebook

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.NotebookAddress,
            "POST",
            path_of("/jobs/{id}/notebook", id=id),
            query={"organisation": organisation, "project": project},
        )

    def pause(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Job:
        """Saves and leaves the GPUs until it is resumed.

        POST /jobs/{id}/pause

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Job, "POST", path_of("/jobs/{id}/pause", id=id), query={"organisation": organisation, "project": project}
        )

    def list_profiles(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> ApiRows[r.Profile]:
        """The recordings of the job, the newest first, at most 20.

        GET /jobs/{id}/profiles

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.rows(
            r.Profile,
            "GET",
            path_of("/jobs/{id}/profiles", id=id),
            query={"organisation": organisation, "project": project},
        )

    def create_profile(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        steps: int | Unset = UNSET,
        ranks: Sequence[int] | Unset = UNSET,
        servers: Sequence[int] | Unset = UNSET,
    ) -> r.ProfileDetail:
        """Asks the pods of a job that runs to record. 409 when it does not run, or is being recorded.

        POST /jobs/{id}/profiles

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        steps: How many steps; fewer are recorded where an evaluation or the end comes before.
        ranks: The workers to record, by rank; 0 where neither these nor servers are named.
        servers: The parameter servers to record, by index. A step of theirs is an update of the weights.
        """
        return self._transport.record(
            r.ProfileDetail,
            "POST",
            path_of("/jobs/{id}/profiles", id=id),
            query={"organisation": organisation, "project": project},
            body={"steps": steps, "ranks": ranks, "servers": servers},
        )

    def profiles(
        self, id: Ref, profile: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> r.ProfileDetail:
        """A recording, with the dearest operators of each pod and what its steps consisted of.

        GET /jobs/{id}/profiles/{profile}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.ProfileDetail,
            "GET",
            path_of("/jobs/{id}/profiles/{profile}", id=id, profile=profile),
            query={"organisation": organisation, "project": project},
        )

    def delete_profile(self, id: Ref, profile: Ref, /) -> None:
        """Deletes a recording with its traces; one that is under way is given up.

        DELETE /jobs/{id}/profiles/{profile}
        """
        self._transport.content("DELETE", path_of("/jobs/{id}/profiles/{profile}", id=id, profile=profile))

    def download_profiles_server_traces(
        self,
        id: Ref,
        profile: Ref,
        rank: Ref,
        /,
        *,
        to: str | PathLike[str],
        organisation: str | None = None,
        project: str | None = None,
    ) -> Path:
        """The trace of a parameter server, in the same format: a track of its updates, and one for each worker.

        GET /jobs/{id}/profiles/{profile}/server-traces/{rank}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/jobs/{id}/profiles/{profile}/server-traces/{rank}", id=id, profile=profile, rank=rank),
            query={"organisation": organisation, "project": project},
            to=to,
        )

    def download_profiles_traces(
        self,
        id: Ref,
        profile: Ref,
        rank: Ref,
        /,
        *,
        to: str | PathLike[str],
        organisation: str | None = None,
        project: str | None = None,
    ) -> Path:
        """The trace of a worker: Chrome trace events as JSON in gzip, which Perfetto opens.

        GET /jobs/{id}/profiles/{profile}/traces/{rank}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/jobs/{id}/profiles/{profile}/traces/{rank}", id=id, profile=profile, rank=rank),
            query={"organisation": organisation, "project": project},
            to=to,
        )

    def download_result(
        self, id: Ref, /, *, to: str | PathLike[str], organisation: str | None = None, project: str | None = None
    ) -> Path:
        """The file of a job that predicted; one byte range, and an entity tag to ask again.

        GET /jobs/{id}/result

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/jobs/{id}/result", id=id), query={"organisation": organisation, "project": project}, to=to
        )

    def resume(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Job:
        """Back to the queue, to go on from the last checkpoint.

        POST /jobs/{id}/resume

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Job, "POST", path_of("/jobs/{id}/resume", id=id), query={"organisation": organisation, "project": project}
        )

    def speed(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Speeds:
        """What the job measured of itself, and the scheduler learns from.

        GET /jobs/{id}/speed

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Speeds,
            "GET",
            path_of("/jobs/{id}/speed", id=id),
            query={"organisation": organisation, "project": project},
        )

    def startup(
        self, id: Ref, /, *, attempt: int | None = None, organisation: str | None = None, project: str | None = None
    ) -> r.Startup:
        """From the request to the first step: each phase with its start and duration.

        GET /jobs/{id}/startup

        attempt: The number of the attempt; the newest otherwise.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Startup,
            "GET",
            path_of("/jobs/{id}/startup", id=id),
            query={"attempt": attempt, "organisation": organisation, "project": project},
        )

    def stream(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None, cursor: str = ""
    ) -> Iterator[StreamEvent]:
        """A job's state, events, points and log lines as they come; the id of a frame is a cursor of the job.

        Frames are server-sent events; each `data` is a line of JSON, with the schema in x-events:

        - `job`: the job as lists show it, whenever something of it changed
        - `event`: what happened to the job
        - `metrics`: new points of its curves
        - `log`: new lines of its log
        - `heartbeat`: at once, and every 5 s while nothing else comes, {}; a stream that is silent for 10 s has
        stalled, and is to be opened anew

        After a reconnect, send the id of the last frame that had one as the header Last-Event-ID (browsers do) or
        as `last_event_id`: nothing that happened between is lost. The first frame has an id already. `cursor` of
        GET /jobs/{id} is such an id: what came after that answer is reported from there on. The last frame is the
        event `end`, {code, detail}, when the caller's session, token, role or membership was taken away, or when
        there is nothing left to follow.

        GET /jobs/{id}/stream

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        cursor: the id of the last frame that was seen; without it, the stream begins now.
        """
        return self._transport.stream(
            path_of("/jobs/{id}/stream", id=id), query={"organisation": organisation, "project": project}, cursor=cursor
        )

    def usage(
        self,
        id: Ref,
        /,
        *,
        attempt: int | None = None,
        first_pod: int | None = None,
        max_points: int | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> r.UsageOverTime:
        """What the pods of an attempt used over time: CPUs, memory, GPU, network, disk.

        GET /jobs/{id}/usage

        attempt: The attempt's number; the newest one that has samples, if left out.
        first_pod: The place of the first pod to show among workers, then servers: `next_pod` of the answer before.
        max_points: The most points of a pod: means over equal stretches of time.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.UsageOverTime,
            "GET",
            path_of("/jobs/{id}/usage", id=id),
            query={
                "attempt": attempt,
                "first_pod": first_pod,
                "max_points": max_points,
                "organisation": organisation,
                "project": project,
            },
        )

    def why(
        self, id: Ref, /, *, analysis: bool | None = None, organisation: str | None = None, project: str | None = None
    ) -> r.Why:
        """Why the job waits, runs or has failed, in words and numbers; what would change that, as confirmed by the
        live
        policy; and what was decided on it before.

        GET /jobs/{id}/why

        analysis: Whether the policy is asked what the job lacks and what would help; by default true.
        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Why,
            "GET",
            path_of("/jobs/{id}/why", id=id),
            query={"analysis": analysis, "organisation": organisation, "project": project},
        )

    def bulk(
        self,
        *,
        action: v.BulkRequestActionEnum,
        jobs: Sequence[str],
        tag: str | Unset = UNSET,
        priority: int | Unset = UNSET,
    ) -> r.Bulk:
        """Does one thing to each of the jobs; what one job refuses does not keep the others from it.

        POST /jobs/bulk

        action: What is done to each of the jobs.
        jobs: The ids of the jobs.
        tag: Of the actions tag and untag: the tag.
        priority: Of the action priority: -100 to 100; higher goes first.
        """
        return self._transport.record(
            r.Bulk,
            "POST",
            path_of("/jobs/bulk"),
            body={"action": action, "jobs": jobs, "tag": tag, "priority": priority},
        )

    def compare_curves(
        self, *, jobs: Sequence[str], metric: str, max_points: int | Unset = UNSET, axis: v.AxisEnum | Unset = UNSET
    ) -> r.ComparedCurves:
        """The curves of one metric of many jobs: of each its ends, and the lowest and highest point of each stretch.

        POST /jobs/compare/curves

        max_points: Of a curve; times the curves at most 8000.
        jobs: The ids of the jobs; those that the caller may not see are left out.
        metric: The metric, such as train/loss.
        axis: What the curves are drawn over; wall: seconds since the job's first step.
        """
        return self._transport.record(
            r.ComparedCurves,
            "POST",
            path_of("/jobs/compare/curves"),
            body={"max_points": max_points, "jobs": jobs, "metric": metric, "axis": axis},
        )

    def compare_importance(
        self, *, results: Sequence[float | None], parameters: Mapping[str, Sequence[Any | None]]
    ) -> r.ComparedImportance:
        """How much each parameter matters by itself for the result, over rows such as compared jobs.

        POST /jobs/compare/importance

        results: What each row reached; null where it has reached nothing yet.
        parameters: By name, the value that each row has, in the order of `results`: a number, a text, or null.
        """
        return self._transport.record(
            r.ComparedImportance,
            "POST",
            path_of("/jobs/compare/importance"),
            body={"results": results, "parameters": parameters},
        )

    def compare_metrics(self, *, jobs: Sequence[str], search: str | Unset = UNSET) -> r.CommonMetrics:
        """The names of the metrics that the jobs have, with how many of them have each.

        POST /jobs/compare/metrics

        jobs: The ids of the jobs; those that the caller may not see are left out.
        search: Only metrics whose names contain this.
        """
        return self._transport.record(
            r.CommonMetrics, "POST", path_of("/jobs/compare/metrics"), body={"jobs": jobs, "search": search}
        )

    def preview(
        self,
        *,
        name: str | Unset = UNSET,
        epochs: int | Unset = UNSET,
        batch_size: int | Mapping[str, Any] | Unset = UNSET,
        hyperparameters: Mapping[str, Any] | Unset = UNSET,
        mode: v.ModeEnum | Unset = UNSET,
        strategy: Mapping[str, Any] | Unset = UNSET,
        min_workers: int | Unset = UNSET,
        max_workers: int | Unset = UNSET,
        priority: int | Unset = UNSET,
        resources: b.ResourcesRequest | Unset = UNSET,
        limits: b.LimitsRequest | Unset = UNSET,
        environment: Mapping[str, str] | Unset = UNSET,
        secrets: Sequence[str] | Unset = UNSET,
        image: str | Unset = UNSET,
        seed: int | Unset = UNSET,
        target_metric: str | Unset = UNSET,
        target_value: float | Unset | None = UNSET,
        kind: v.JobKind | Unset = UNSET,
        dataset: str | Unset = UNSET,
        dataset_version: str | Unset = UNSET,
        datasets: Mapping[str, str] | Unset = UNSET,
        model: str | Unset = UNSET,
        model_version: str | Unset = UNSET,
        project: str | Unset = UNSET,
        model_of: str | Unset = UNSET,
        features: Sequence[str] | Unset = UNSET,
        output: v.OutputEnum | Unset = UNSET,
        examples: v.ExamplesEnum | Unset = UNSET,
        finish_by: datetime | str | Unset = UNSET,
    ) -> r.JobPreview:
        """What the live policy would make of a job: size, place, start, finish, cost, and two alternatives. Nothing is
        stored; 422 as for the submission itself.

        POST /jobs/preview

        name: The job's name; by default those of model and dataset, of a clone that of the original.
        epochs: How often training passes over the dataset; by default by its size.
        batch_size: The global batch size, in examples; or the range in which the scheduler chooses it.
        hyperparameters: Hyperparameters of the training loop and of the model, by name.
        mode: How workers exchange gradients; auto: the scheduler's choice.
        strategy: Such as {"name": "ssp", "staleness": 3}; /api/v1/strategies lists them.
        min_workers: The least number of workers.
        max_workers: The most workers.
        priority: The priority, -100 to 100; higher goes first.
        resources: What each pod gets; by default what was measured.
        limits: When the platform ends the job.
        environment: Environment variables of the job's pods, such as {"TOKENIZERS_PARALLELISM": "false"}.
        secrets: Names of the project's secrets that the job's pods get as environment variables.
        image: On Kubernetes: a container image of the job's workers, registry.example.org/team/train:1.4; empty:
        the platform's.
        seed: The seed of all random numbers.
        target_metric: The metric to reach, such as eval/accuracy; goes with target_value.
        target_value: The value of target_metric to reach.
        kind: By default train.
        dataset: Its name or id; its latest ready version is used. A script may do without.
        dataset_version: The id of a dataset version, instead of dataset.
        datasets: Of a script: further datasets by the names under which it finds them as folders (letters, digits,
        _): each the name or id of a dataset, whose latest ready version is used, or the id of a version.
        model: Its name or id; its latest uploaded version is used. NAME:3 or NAME@ALIAS: that version.
        model_version: The id of a model version, instead of model.
        project: Its name or id; by default the dataset's; required without one.
        model_of: A training job that succeeded, to predict or evaluate with what it trained.
        features: Of predict: layers whose outputs are wanted instead of predictions.
        output: Of predict: by default parquet.
        examples: Of predict and evaluate: by default all.
        finish_by: When it shall have finished: the cheapest size that is in time is then one of the alternatives.
        """
        return self._transport.record(
            r.JobPreview,
            "POST",
            path_of("/jobs/preview"),
            body={
                "name": name,
                "epochs": epochs,
                "batch_size": batch_size,
                "hyperparameters": hyperparameters,
                "mode": mode,
                "strategy": strategy,
                "min_workers": min_workers,
                "max_workers": max_workers,
                "priority": priority,
                "resources": resources,
                "limits": limits,
                "environment": environment,
                "secrets": secrets,
                "image": image,
                "seed": seed,
                "target_metric": target_metric,
                "target_value": target_value,
                "kind": kind,
                "dataset": dataset,
                "dataset_version": dataset_version,
                "datasets": datasets,
                "model": model,
                "model_version": model_version,
                "project": project,
                "model_of": model_of,
                "features": features,
                "output": output,
                "examples": examples,
                "finish_by": finish_by,
            },
        )


class MembershipsOperations:
    """The operations under /memberships."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def update(self, id: Ref, /, *, role: v.Role | Unset = UNSET) -> r.Membership:
        """Another role; the last owner stays one.

        PATCH /memberships/{id}

        role: The member's new role.
        """
        return self._transport.record(r.Membership, "PATCH", path_of("/memberships/{id}", id=id), body={"role": role})

    def delete(self, id: Ref, /) -> None:
        """Removes the member, or leaves; the last owner cannot.

        DELETE /memberships/{id}
        """
        self._transport.content("DELETE", path_of("/memberships/{id}", id=id))


class ModelVersionsOperations:
    """The operations under /model-versions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, id: Ref, /) -> r.ModelVersionDetail:
        """One version of a model, uploaded or trained.

        GET /model-versions/{id}
        """
        return self._transport.record(r.ModelVersionDetail, "GET", path_of("/model-versions/{id}", id=id))

    def update(
        self, id: Ref, /, *, tags: Sequence[str] | Unset = UNSET, notes: str | Unset = UNSET
    ) -> r.ModelVersionDetail:
        """Writes its tags and notes, at any time; 403 for built-in models.

        PATCH /model-versions/{id}

        tags: The version's tags, in place of those it has.
        notes: What is to be known about the version, in Markdown.
        """
        return self._transport.record(
            r.ModelVersionDetail, "PATCH", path_of("/model-versions/{id}", id=id), body={"tags": tags, "notes": notes}
        )

    def delete(self, id: Ref, /) -> None:
        """With its files; 409 while jobs or trained models use it, or when the model has no other version.

        DELETE /model-versions/{id}
        """
        self._transport.content("DELETE", path_of("/model-versions/{id}", id=id))

    def download(self, id: Ref, /, *, what: Literal["weights", "package", "metadata"], to: str | PathLike[str]) -> Path:
        """Weights (safetensors), package (zip) or metadata (JSON); one byte range, and an entity tag to ask again.

        GET /model-versions/{id}/download

        what: Which file.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/model-versions/{id}/download", id=id), query={"what": what}, to=to)

    def list_files(self, id: Ref, /) -> ApiRows[r.ModelFile]:
        """All files of the version, by path; none of one that no client of MLflow registered.

        GET /model-versions/{id}/files
        """
        return self._transport.rows(r.ModelFile, "GET", path_of("/model-versions/{id}/files", id=id))

    def download_files(self, id: Ref, path: Ref, /, *, to: str | PathLike[str]) -> Path:
        """One of them; one byte range, and an entity tag to ask again.

        GET /model-versions/{id}/files/{path}

        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/model-versions/{id}/files/{path}", id=id, path=path), to=to)


class ModelsOperations:
    """The operations under /models."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        builtin: bool | None = None,
        name: str | None = None,
        organisation: str | None = None,
        project: str | None = None,
        ready: bool | None = None,
        ref: str | None = None,
        search: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Model]:
        """Models of projects that the caller sees, each with its latest version.

        GET /models

        builtin: true: only built-in models; false: only others.
        name: Only the one of exactly this name.
        organisation: Only those of this organisation, by id or name.
        project: Only those of this project, by id or name.
        ready: true: only those whose newest code passed its check, so that jobs can train it; false: only others.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        search: Only those whose name contains this.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Model,
            path_of("/models"),
            query={
                "builtin": builtin,
                "name": name,
                "organisation": organisation,
                "project": project,
                "ready": ready,
                "ref": ref,
                "search": search,
            },
            size=page_size,
        )

    def create(
        self,
        *,
        name: str,
        project: str,
        file: FileSource | Unset = UNSET,
        upload: str | Unset = UNSET,
        kind: v.UploadedKind | Unset = UNSET,
        entry: str | Unset = UNSET,
        description: str | Unset = UNSET,
    ) -> r.Model:
        """Uploads a model's code; its first version is then validated.

        POST /models

        file: A zip of a package, a single Python file, or a model made elsewhere.
        upload: In place of the file: the id of a whole upload to /uploads, which is then used up.
        kind: package or script; without it, by the code: a package where its entry defines build_model.
        entry: The module of a package (default: model, or the single file), or the path of a script. Without it and
        without a kind: model.py, train.py or main.py.
        name: The model's name, unique within its project.
        project: The name or id of the project.
        description: What it is, for people.
        """
        return self._transport.upload(
            r.Model,
            path_of("/models"),
            body={
                "file": file,
                "upload": upload,
                "kind": kind,
                "entry": entry,
                "name": name,
                "project": project,
                "description": description,
            },
        )

    def get(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Model:
        """One model, with its latest version.

        GET /models/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Model, "GET", path_of("/models/{id}", id=id), query={"organisation": organisation, "project": project}
        )

    def delete(self, id: Ref, /) -> None:
        """With all its versions; 409 while jobs use one, 403 for built-in models.

        DELETE /models/{id}
        """
        self._transport.content("DELETE", path_of("/models/{id}", id=id))

    def list_aliases(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> ApiRows[r.Alias]:
        """All aliases of the model, by name.

        GET /models/{id}/aliases

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.rows(
            r.Alias,
            "GET",
            path_of("/models/{id}/aliases", id=id),
            query={"organisation": organisation, "project": project},
        )

    def set_alias(
        self, id: Ref, name: Ref, /, *, version: int, organisation: str | None = None, project: str | None = None
    ) -> r.Alias:
        """Sets the alias, or moves it from another version.

        PUT /models/{id}/aliases/{name}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        version: The number of the version.
        """
        return self._transport.record(
            r.Alias,
            "PUT",
            path_of("/models/{id}/aliases/{name}", id=id, name=name),
            query={"organisation": organisation, "project": project},
            body={"version": version},
        )

    def delete_alias(self, id: Ref, name: Ref, /) -> None:
        """The version stays.

        DELETE /models/{id}/aliases/{name}
        """
        self._transport.content("DELETE", path_of("/models/{id}/aliases/{name}", id=id, name=name))

    def predict_newest(
        self, id: Ref, /, *, rows: Sequence[Any], organisation: str | None = None, project: str | None = None
    ) -> r.Predictions:
        """Predicts some rows at once by the newest version of a model that a job has trained.

        404 says that there is none; 422 names the column that is wrong.

        POST /models/{id}/predict

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        rows: As the model takes them: objects of columns, {"x": numbers}, {"image": base64}, {"audio": base64} or
        {"text": string}.
        """
        return self._transport.record(
            r.Predictions,
            "POST",
            path_of("/models/{id}/predict", id=id),
            query={"organisation": organisation, "project": project},
            body={"rows": rows},
        )

    def list_versions(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        source: Literal["logged", "training", "upload"] | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.ModelVersion]:
        """All versions of a model.

        GET /models/{id}/versions

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        source: * `upload` - upload * `training` - training * `logged` - logged
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.ModelVersion,
            path_of("/models/{id}/versions", id=id),
            query={"organisation": organisation, "project": project, "source": source},
            size=page_size,
        )

    def create_version(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        file: FileSource | Unset = UNSET,
        upload: str | Unset = UNSET,
        kind: v.UploadedKind | Unset = UNSET,
        entry: str | Unset = UNSET,
    ) -> r.ModelVersion:
        """Uploads another version of the code, which is then validated.

        POST /models/{id}/versions

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        file: A zip of a package, a single Python file, or a model made elsewhere.
        upload: In place of the file: the id of a whole upload to /uploads, which is then used up.
        kind: package or script; without it, by the code: a package where its entry defines build_model.
        entry: The module of a package (default: model, or the single file), or the path of a script. Without it and
        without a kind: model.py, train.py or main.py.
        """
        return self._transport.upload(
            r.ModelVersion,
            path_of("/models/{id}/versions", id=id),
            query={"organisation": organisation, "project": project},
            body={"file": file, "upload": upload, "kind": kind, "entry": entry},
        )

    def download_export(
        self,
        id: Ref,
        version: Ref,
        /,
        *,
        to: str | PathLike[str],
        organisation: str | None = None,
        project: str | None = None,
    ) -> Path:
        """A zip with a folder that predicts elsewhere with torch and NumPy: weights, code, preprocessing,
        `predict.py`.

        409 and 422 with the code `not_exportable` say why a version has none.

        GET /models/{id}/versions/{version}/export

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/models/{id}/versions/{version}/export", id=id, version=version),
            query={"organisation": organisation, "project": project},
            to=to,
        )

    def lineage(
        self, id: Ref, version: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> r.Lineage:
        """What the version was made from and by which job, the newest 50 jobs that used it, and what they made.

        GET /models/{id}/versions/{version}/lineage

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Lineage,
            "GET",
            path_of("/models/{id}/versions/{version}/lineage", id=id, version=version),
            query={"organisation": organisation, "project": project},
        )

    def predict(
        self,
        id: Ref,
        version: Ref,
        /,
        *,
        rows: Sequence[Any],
        organisation: str | None = None,
        project: str | None = None,
    ) -> r.Predictions:
        """Predicts some rows at once, to try a model out; whole datasets are predicted by jobs.

        422 names the column that is wrong; 409 and 422 say why a version cannot be tried out.

        POST /models/{id}/versions/{version}/predict

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        rows: As the model takes them: objects of columns, {"x": numbers}, {"image": base64}, {"audio": base64} or
        {"text": string}.
        """
        return self._transport.record(
            r.Predictions,
            "POST",
            path_of("/models/{id}/versions/{version}/predict", id=id, version=version),
            query={"organisation": organisation, "project": project},
            body={"rows": rows},
        )


class OrganisationDeletionsOperations:
    """The operations under /organisation-deletions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int = PAGE_SIZE) -> Pages[r.OrganisationDeletion]:
        """Deletions of organisations that one has asked for; administrators of the platform see all.

        GET /organisation-deletions

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.OrganisationDeletion, path_of("/organisation-deletions"), size=page_size)

    def get(self, id: Ref, /) -> r.OrganisationDeletion:
        """How far a deletion is, also when the organisation is gone.

        GET /organisation-deletions/{id}
        """
        return self._transport.record(r.OrganisationDeletion, "GET", path_of("/organisation-deletions/{id}", id=id))


class OrganisationsOperations:
    """The operations under /organisations."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        name: str | None = None,
        ref: str | None = None,
        role: Sequence[Literal["admin", "auditor", "member", "outsider", "owner", "submitter", "viewer"]] | None = None,
        search: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Organisation]:
        """Organisations that the caller belongs to; administrators of the platform see all.

        GET /organisations

        name: Only the one of exactly this name.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        role: Only those in which the caller has one of these roles.
        search: Only those whose name contains this, in any case.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Organisation,
            path_of("/organisations"),
            query={"name": name, "ref": ref, "role": role, "search": search},
            size=page_size,
        )

    def create(self, *, name: str) -> r.Organisation:
        """A new organisation with an empty quota; for administrators of the platform.

        POST /organisations

        name: The name; at most 100 characters.
        """
        return self._transport.record(r.Organisation, "POST", path_of("/organisations"), body={"name": name})

    def get(self, id: Ref, /) -> r.OrganisationDetail:
        """One organisation, with the caller's role in it.

        GET /organisations/{id}
        """
        return self._transport.record(r.OrganisationDetail, "GET", path_of("/organisations/{id}", id=id))

    def update(
        self,
        id: Ref,
        /,
        *,
        name: str | Unset = UNSET,
        is_archived: bool | Unset = UNSET,
        seen: b.OrganisationSeenRequest | Unset = UNSET,
    ) -> r.OrganisationDetail:
        """Another name, archived or open again; for owners. An archived one takes no projects, uploads and jobs.

        PATCH /organisations/{id}

        name: Another name; left out: the same.
        is_archived: Whether it takes no more projects, uploads and jobs; left out: as it is.
        seen: The values that the caller saw of what is changed; 409 with both versions when one of them is another
        now.
        """
        return self._transport.record(
            r.OrganisationDetail,
            "PATCH",
            path_of("/organisations/{id}", id=id),
            body={"name": name, "is_archived": is_archived, "seen": seen},
        )

    def delete(self, id: Ref, /) -> None:
        """For owners; 409 with the numbers of what it holds, unless it is empty. Memberships go with it.

        DELETE /organisations/{id}
        """
        self._transport.content("DELETE", path_of("/organisations/{id}", id=id))

    def deletion(self, id: Ref, /) -> r.OrganisationContents:
        """What deleting the organisation with all its data would remove, and what forbids it; for owners.

        GET /organisations/{id}/deletion
        """
        return self._transport.record(r.OrganisationContents, "GET", path_of("/organisations/{id}/deletion", id=id))

    def create_deletion(
        self,
        id: Ref,
        /,
        *,
        name: str,
        code: str | Unset = UNSET,
        passkey: b.AssertionRequest | Unset | None = UNSET,
        password: str | Unset = UNSET,
    ) -> r.OrganisationDeletion:
        """Deletes an archived organisation with all its data, in the background, for good. For owners, with the
        password and the second factor, or a passkey; by session. 409 while jobs or studies have not ended.

        POST /organisations/{id}/deletion

        code: The code of the second factor, or a recovery code; empty: the account has none.
        passkey: A passkey's answer; null: the account has none.
        password: The present password; empty: the account has none, or a passkey is given.
        name: The organisation's name, to confirm.
        """
        return self._transport.record(
            r.OrganisationDeletion,
            "POST",
            path_of("/organisations/{id}/deletion", id=id),
            body={"code": code, "passkey": passkey, "password": password, "name": name},
        )

    def list_invitations(
        self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.Invitation]:
        """Invitations of an organisation that wait for an answer; for its admins.

        GET /organisations/{id}/invitations

        search: Only those whose user name or e-mail address contains this.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Invitation,
            path_of("/organisations/{id}/invitations", id=id),
            query={"search": search},
            size=page_size,
        )

    def create_invitation(
        self, id: Ref, /, *, role: v.Role, username: str | Unset = UNSET, email: str | Unset = UNSET
    ) -> r.InvitationCreated:
        """Invites by a link, or the person who signs in with this name; the answer does not show whether there is one.

        For admins; owners only may invite an owner. It waits for 14 days. One to a name replaces an earlier one.

        POST /organisations/{id}/invitations

        username: The user name to invite, which need not exist; left out: a link is made.
        email: Where the link is sent to, if a mail server is configured.
        role: The role that is offered.
        """
        return self._transport.record(
            r.InvitationCreated,
            "POST",
            path_of("/organisations/{id}/invitations", id=id),
            body={"username": username, "email": email, "role": role},
        )

    def list_members(
        self,
        id: Ref,
        /,
        *,
        role: Sequence[Literal["admin", "auditor", "member", "outsider", "owner", "submitter", "viewer"]] | None = None,
        search: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Membership]:
        """The people of an organisation, with their roles; its service accounts have a list of their own.

        GET /organisations/{id}/members

        role: Only those who have one of these roles.
        search: Only those whose user name or full name contains this; asked by an admin, or whose e-mail address
        does.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Membership,
            path_of("/organisations/{id}/members", id=id),
            query={"role": role, "search": search},
            size=page_size,
        )

    def create_member(self, id: Ref, /, *, username: str, role: v.Role) -> r.Membership:
        """Adds a user without asking; for administrators of the platform. Others invite: see invitations.

        POST /organisations/{id}/members

        username: The user name of the new member.
        role: The new member's role.
        """
        return self._transport.record(
            r.Membership,
            "POST",
            path_of("/organisations/{id}/members", id=id),
            body={"username": username, "role": role},
        )

    def permissions(self, id: Ref, /, *, username: str | None = None) -> r.Permissions:
        """Where one's role comes from, what it allows, and who gives the role that other actions need.

        GET /organisations/{id}/permissions

        username: Of this member, for admins of the place; left out: of the caller.
        """
        return self._transport.record(
            r.Permissions, "GET", path_of("/organisations/{id}/permissions", id=id), query={"username": username}
        )

    def quota(self, id: Ref, /) -> r.Quota:
        """The organisation's limits, and what it uses of them.

        GET /organisations/{id}/quota
        """
        return self._transport.record(r.Quota, "GET", path_of("/organisations/{id}/quota", id=id))

    def update_quota(
        self,
        id: Ref,
        /,
        *,
        max_gpus: int | Unset | None = UNSET,
        gpus_by_type: Mapping[str, int] | Unset = UNSET,
        guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        borrow_limit_by_type: Mapping[str, int] | Unset = UNSET,
        lend_limit_by_type: Mapping[str, int] | Unset = UNSET,
        max_cpus: int | Unset | None = UNSET,
        max_memory_bytes: int | Unset | None = UNSET,
        max_running_jobs: int | Unset | None = UNSET,
        guarantee: int | Unset | None = UNSET,
        borrow_limit: int | Unset | None = UNSET,
        lend_limit: int | Unset | None = UNSET,
        reclaim: v.ReclaimEnum | Unset = UNSET,
        weight: float | Unset = UNSET,
        shares_fairly: bool | Unset = UNSET,
        half_life_s: float | Unset = UNSET,
        budgets: Sequence[b.BudgetRequest] | Unset = UNSET,
        max_waiting_jobs: int | Unset | None = UNSET,
        max_storage_bytes: int | Unset | None = UNSET,
        max_priority: int | Unset | None = UNSET,
        version: int | Unset = UNSET,
    ) -> r.Quota:
        """Platform administrators only; counts from the next scheduling round on.

        A guarantee that is more, with those of other organisations, than the cluster has is accepted, since nodes
        come
        and go; `overcommitted` of the answer says by how much. One of a single type is refused.

        PATCH /organisations/{id}/quota

        max_gpus: The most GPUs that may be in use at a time; null: no limit.
        gpus_by_type: The most GPUs of single types that may be in use at a time, by type; a type that is not named:
        no limit.
        guarantee_by_type: GPUs of single types that are guaranteed, by type: a part of the guarantee, or all of it
        where that is null.
        borrow_limit_by_type: The most GPUs of single types that may be borrowed above what is guaranteed of the
        type, by type; a type that is not named: no limit.
        lend_limit_by_type: The most GPUs guaranteed of single types that others may borrow while they are unused,
        by type; a type that is not named: no limit.
        max_cpus: The most CPUs that pods may request at a time; null: no limit.
        max_memory_bytes: The most bytes of memory that pods may request at a time; null: no limit.
        max_running_jobs: The most jobs that may run at a time; null: no limit.
        guarantee: GPUs that are guaranteed; null: none.
        borrow_limit: The most GPUs that may be borrowed above the guarantee; null: no limit.
        lend_limit: The most guaranteed GPUs that others may borrow while they are unused; null: no limit.
        reclaim: From whom lent GPUs may be taken back by preemption.
        weight: The share of unguaranteed GPUs, relative to siblings.
        shares_fairly: Whether unguaranteed GPUs are shared by weight, whatever the policy.
        half_life_s: 0: past use is no matter.
        budgets: Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.
        max_waiting_jobs: The most jobs that may wait in the queue; null: no limit but the installation's.
        max_storage_bytes: The most bytes that may be stored, with all below it; each content counts once; null: no
        limit.
        max_priority: The highest priority that members may give their jobs; null: what holds above it, 50 if
        nothing does.
        version: The version that the caller saw; 409 when it is stale.
        """
        return self._transport.record(
            r.Quota,
            "PATCH",
            path_of("/organisations/{id}/quota", id=id),
            body={
                "max_gpus": max_gpus,
                "gpus_by_type": gpus_by_type,
                "guarantee_by_type": guarantee_by_type,
                "borrow_limit_by_type": borrow_limit_by_type,
                "lend_limit_by_type": lend_limit_by_type,
                "max_cpus": max_cpus,
                "max_memory_bytes": max_memory_bytes,
                "max_running_jobs": max_running_jobs,
                "guarantee": guarantee,
                "borrow_limit": borrow_limit,
                "lend_limit": lend_limit,
                "reclaim": reclaim,
                "weight": weight,
                "shares_fairly": shares_fairly,
                "half_life_s": half_life_s,
                "budgets": budgets,
                "max_waiting_jobs": max_waiting_jobs,
                "max_storage_bytes": max_storage_bytes,
                "max_priority": max_priority,
                "version": version,
            },
        )

    def quota_tree(self, id: Ref, /) -> r.QuotaTree:
        """The organisation, its teams and its projects: what each is guaranteed, uses, borrows and lends now.

        For an outsider of it the teams and projects in which a role is held, and none of what is above them.

        GET /organisations/{id}/quota-tree
        """
        return self._transport.record(r.QuotaTree, "GET", path_of("/organisations/{id}/quota-tree", id=id))

    def list_quota_boosts(self, id: Ref, /) -> ApiRows[r.QuotaBoost]:
        """Boosts that are in effect, and those to come: is_in_effect says which. The one that begins first is at the
        top.

        GET /organisations/{id}/quota/boosts
        """
        return self._transport.rows(r.QuotaBoost, "GET", path_of("/organisations/{id}/quota/boosts", id=id))

    def create_quota_boost(
        self,
        id: Ref,
        /,
        *,
        ends_at: datetime | str,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        starts_at: datetime | str | Unset | None = UNSET,
        reason: str | Unset = UNSET,
    ) -> r.QuotaBoostMade:
        """Raises the quota until a time, from the next scheduling round on or from starts_at, by who may change it.

        It ends by itself: what is used above the guarantee then counts as borrowed, and jobs above max_gpus save a
        checkpoint and wait.

        POST /organisations/{id}/quota/boosts

        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        starts_at: When it begins, before ends_at and at most 366 days from now; null, or left out: now. Without an
        offset it is UTC.
        ends_at: When it ends by itself; at most 366 days from now. Without an offset it is UTC.
        reason: Why, for those who see the quota.
        """
        return self._transport.record(
            r.QuotaBoostMade,
            "POST",
            path_of("/organisations/{id}/quota/boosts", id=id),
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "reason": reason,
            },
        )

    def list_quota_burn_down(self, id: Ref, /) -> ApiRows[r.BurnDown]:
        """How each budget of GPU-hours is used in its present period, and when it would be used up.

        GET /organisations/{id}/quota/burn-down
        """
        return self._transport.rows(r.BurnDown, "GET", path_of("/organisations/{id}/quota/burn-down", id=id))

    def quota_requests(
        self,
        id: Ref,
        /,
        *,
        reason: str,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        starts_at: datetime | str | Unset | None = UNSET,
        ends_at: datetime | str | Unset | None = UNSET,
    ) -> r.RequestedQuota:
        """Asks for more, by who may submit; admins of the organisation (for its own quota: of the platform) decide.

        POST /organisations/{id}/quota/requests

        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        starts_at: From when on, before ends_at and at most 366 days from now; null: from the approval on.
        ends_at: Until when, at most 366 days from now; null: for good.
        reason: What they are for, to who decides.
        """
        return self._transport.record(
            r.RequestedQuota,
            "POST",
            path_of("/organisations/{id}/quota/requests", id=id),
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "reason": reason,
            },
        )

    def restore_quota(self, id: Ref, /, *, version: int, seen: int | Unset = UNSET) -> r.QuotaOwner:
        """Gives the quota the rules that it had at an older version, as a new version, by who may change it.

        POST /organisations/{id}/quota/restore

        version: The version whose rules are restored, as a new version.
        seen: The present version, as the caller saw it; 409 when it is stale.
        """
        return self._transport.record(
            r.QuotaOwner,
            "POST",
            path_of("/organisations/{id}/quota/restore", id=id),
            body={"version": version, "seen": seen},
        )

    def quota_users(self, id: Ref, /) -> r.UserQuotas:
        """What each user may have here, and has now: the limits of every user, and exceptions.

        GET /organisations/{id}/quota/users
        """
        return self._transport.record(r.UserQuotas, "GET", path_of("/organisations/{id}/quota/users", id=id))

    def update_quota_user(
        self,
        id: Ref,
        /,
        *,
        username: str | Unset | None = UNSET,
        max_gpus: int | Unset | None = UNSET,
        gpus_by_type: Mapping[str, int] | Unset = UNSET,
        max_cpus: int | Unset | None = UNSET,
        max_memory_bytes: int | Unset | None = UNSET,
        max_running_jobs: int | Unset | None = UNSET,
        max_waiting_jobs: int | Unset | None = UNSET,
        max_storage_bytes: int | Unset | None = UNSET,
        budgets: Sequence[b.BudgetRequest] | Unset = UNSET,
        version: int | Unset = UNSET,
    ) -> r.UserQuota:
        """Changes what a user may have here, by its admins; counts from the next round on.

        A person's first own limits begin as those of every user. No job is ended: jobs above a limit save a
        checkpoint
        and wait.

        PATCH /organisations/{id}/quota/users

        username: Whose limits; null: those of every user who has none of their own.
        max_gpus: The most GPUs that the user's jobs may hold at a time; null: no limit.
        gpus_by_type: The most GPUs of a type that the user's jobs may hold at a time, by type; a type without a
        number: no limit.
        max_cpus: The most CPUs that pods of the user's jobs may request at a time; null: no limit.
        max_memory_bytes: The most bytes of memory that pods of the user's jobs may request at a time; null: no
        limit.
        max_running_jobs: The most jobs that the user may run at a time; null: no limit.
        max_waiting_jobs: The most jobs that the user may have waiting; null: no limit but the installation's.
        max_storage_bytes: The most bytes that the user may store, of an organisation only; null: no limit.
        budgets: Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.
        version: The version that the caller saw, 0: there were none; 409 when it is stale.
        """
        return self._transport.record(
            r.UserQuota,
            "PATCH",
            path_of("/organisations/{id}/quota/users", id=id),
            body={
                "username": username,
                "max_gpus": max_gpus,
                "gpus_by_type": gpus_by_type,
                "max_cpus": max_cpus,
                "max_memory_bytes": max_memory_bytes,
                "max_running_jobs": max_running_jobs,
                "max_waiting_jobs": max_waiting_jobs,
                "max_storage_bytes": max_storage_bytes,
                "budgets": budgets,
                "version": version,
            },
        )

    def list_quota_versions(self, id: Ref, /) -> ApiRows[r.QuotaVersion]:
        """Who changed the quota, when, and what; the newest 100 changes, newest first.

        GET /organisations/{id}/quota/versions
        """
        return self._transport.rows(r.QuotaVersion, "GET", path_of("/organisations/{id}/quota/versions", id=id))

    def retention(self, id: Ref, /) -> r.OrganisationRetention:
        """Within which bounds the organisation's projects choose how long they keep what their jobs leave, by kind.

        GET /organisations/{id}/retention
        """
        return self._transport.record(r.OrganisationRetention, "GET", path_of("/organisations/{id}/retention", id=id))

    def update_retention(
        self,
        id: Ref,
        /,
        *,
        logs: b.OrganisationRuleChangeRequest | Unset = UNSET,
        metrics: b.OrganisationRuleChangeRequest | Unset = UNSET,
        usage: b.OrganisationRuleChangeRequest | Unset = UNSET,
        results: b.OrganisationRuleChangeRequest | Unset = UNSET,
        checkpoints: b.OrganisationRuleChangeRequest | Unset = UNSET,
        failed_checkpoints: b.OrganisationRuleChangeRequest | Unset = UNSET,
        version: int | Unset = UNSET,
    ) -> r.OrganisationRetention:
        """Changes the bounds, by admins of the organisation; what is due by them is removed within some minutes.

        PATCH /organisations/{id}/retention

        logs: Lines of attempts, from the attempt's end on.
        metrics: Points of curves, from the job's end on; final metrics stay.
        usage: Resource use of pods, from the attempt's end on.
        results: Files of predictions, from the attempt's end on.
        checkpoints: Checkpoints of jobs that succeeded or were cancelled, from the end on; pinned ones stay.
        failed_checkpoints: Checkpoints of jobs that failed, and folders of notebooks; pinned ones stay.
        version: The version that the caller saw; 409 with both versions when it is stale.
        """
        return self._transport.record(
            r.OrganisationRetention,
            "PATCH",
            path_of("/organisations/{id}/retention", id=id),
            body={
                "logs": logs,
                "metrics": metrics,
                "usage": usage,
                "results": results,
                "checkpoints": checkpoints,
                "failed_checkpoints": failed_checkpoints,
                "version": version,
            },
        )

    def retention_preview(
        self,
        id: Ref,
        /,
        *,
        logs: b.OrganisationRuleChangeRequest | Unset = UNSET,
        metrics: b.OrganisationRuleChangeRequest | Unset = UNSET,
        usage: b.OrganisationRuleChangeRequest | Unset = UNSET,
        results: b.OrganisationRuleChangeRequest | Unset = UNSET,
        checkpoints: b.OrganisationRuleChangeRequest | Unset = UNSET,
        failed_checkpoints: b.OrganisationRuleChangeRequest | Unset = UNSET,
    ) -> ApiRows[r.RetentionEffect]:
        """Which projects would keep what for other days by such bounds, and what would be removed now; nothing is
        changed.

        POST /organisations/{id}/retention/preview

        logs: Lines of attempts, from the attempt's end on.
        metrics: Points of curves, from the job's end on; final metrics stay.
        usage: Resource use of pods, from the attempt's end on.
        results: Files of predictions, from the attempt's end on.
        checkpoints: Checkpoints of jobs that succeeded or were cancelled, from the end on; pinned ones stay.
        failed_checkpoints: Checkpoints of jobs that failed, and folders of notebooks; pinned ones stay.
        """
        return self._transport.rows(
            r.RetentionEffect,
            "POST",
            path_of("/organisations/{id}/retention/preview", id=id),
            body={
                "logs": logs,
                "metrics": metrics,
                "usage": usage,
                "results": results,
                "checkpoints": checkpoints,
                "failed_checkpoints": failed_checkpoints,
            },
        )

    def list_service_accounts(
        self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.ServiceAccount]:
        """The service accounts of an organisation.

        GET /organisations/{id}/service-accounts

        search: Only those whose name contains this.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.ServiceAccount,
            path_of("/organisations/{id}/service-accounts", id=id),
            query={"search": search},
            size=page_size,
        )

    def create_service_account(self, id: Ref, /, *, name: str, role: v.Role | Unset = UNSET) -> r.ServiceAccount:
        """A new one, for admins. It has no password: programs use tokens that are made for it.

        POST /organisations/{id}/service-accounts

        name: What it is for, such as `ci`: letters, digits and . + - _; the organisation follows.
        role: member, submitter, viewer or outsider.
        """
        return self._transport.record(
            r.ServiceAccount,
            "POST",
            path_of("/organisations/{id}/service-accounts", id=id),
            body={"name": name, "role": role},
        )

    def list_webhooks(self, id: Ref, /, *, page_size: int = PAGE_SIZE) -> Pages[r.Webhook]:
        """The organisation's webhooks.

        GET /organisations/{id}/webhooks

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Webhook, path_of("/organisations/{id}/webhooks", id=id), size=page_size)

    def create_webhook(self, id: Ref, /, *, url: str, topics: Sequence[v.WebhookTopic]) -> r.WebhookCreated:
        """Makes one; its secret is shown this once. It is notified of what happens from now on.

        POST /organisations/{id}/webhooks

        url: A public address that begins with https://, or one that MLHUB_WEBHOOK_ALLOW allows.
        topics: What it is notified of.
        """
        return self._transport.record(
            r.WebhookCreated,
            "POST",
            path_of("/organisations/{id}/webhooks", id=id),
            body={"url": url, "topics": topics},
        )


class PlatformOperations:
    """The operations under /platform."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def checks(self) -> r.PlatformChecks:
        """Runs the checks of `mlhub doctor` that make sense while the platform runs, and answers within 15 s. They
        change nothing. Platform administrators only.

        POST /platform/checks
        """
        return self._transport.record(r.PlatformChecks, "POST", path_of("/platform/checks"))

    def settings(self) -> r.PlatformSettings:
        """Returns the settings that hold, as the web process was started with them. Secrets are not among them.
        Platform administrators only.

        GET /platform/settings
        """
        return self._transport.record(r.PlatformSettings, "GET", path_of("/platform/settings"))


class ProjectDeletionsOperations:
    """The operations under /project-deletions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int = PAGE_SIZE) -> Pages[r.ProjectDeletion]:
        """Deletions of projects with their data that one has asked for; administrators of the platform see all.

        GET /project-deletions

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.ProjectDeletion, path_of("/project-deletions"), size=page_size)

    def get(self, id: Ref, /) -> r.ProjectDeletion:
        """How far a deletion is, also when the project is gone.

        GET /project-deletions/{id}
        """
        return self._transport.record(r.ProjectDeletion, "GET", path_of("/project-deletions/{id}", id=id))


class ProjectsOperations:
    """The operations under /projects."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        may: Literal["submit", "upload"] | None = None,
        name: str | None = None,
        organisation: str | None = None,
        ref: str | None = None,
        search: str | None = None,
        team: str | None = None,
        within: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Project]:
        """Projects that the caller sees.

        GET /projects

        may: Only open ones to which the caller may upload, or submit jobs.
        name: Only the one of exactly this name.
        organisation: Only those of this organisation, by id or name.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        search: Only those whose name, or whose team's or organisation's, contains this.
        team: Only those of this team, by id or name, without those of teams below it.
        within: Only those of this team and of all teams below it.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Project,
            path_of("/projects"),
            query={
                "may": may,
                "name": name,
                "organisation": organisation,
                "ref": ref,
                "search": search,
                "team": team,
                "within": within,
            },
            size=page_size,
        )

    def create(self, *, name: str, organisation: str, team: str | Unset | None = UNSET) -> r.Project:
        """Makes a project, directly below the organisation or in a team, by its members.

        POST /projects

        name: The name; at most 100 characters.
        organisation: The id of the organisation.
        team: The id of a team of the organisation; null: none.
        """
        return self._transport.record(
            r.Project, "POST", path_of("/projects"), body={"name": name, "organisation": organisation, "team": team}
        )

    def get(self, id: Ref, /, *, organisation: str | None = None) -> r.Project:
        """One project, with its team.

        GET /projects/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.record(
            r.Project, "GET", path_of("/projects/{id}", id=id), query={"organisation": organisation}
        )

    def update(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        name: str | Unset = UNSET,
        team: str | Unset | None = UNSET,
        is_archived: bool | Unset = UNSET,
        seen: b.ProjectSeenRequest | Unset = UNSET,
    ) -> r.Project:
        """Another name, another team, archived or open again; for admins, and the name for who made it. An archived
        one takes no uploads and jobs.

        PATCH /projects/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        name: Another name; left out: the same.
        team: The id of its new team; null: of none; left out: the same.
        is_archived: Whether it takes no more uploads and jobs; left out: as it is.
        seen: The values that the caller saw of what is changed; 409 with both versions when one of them is another
        now.
        """
        return self._transport.record(
            r.Project,
            "PATCH",
            path_of("/projects/{id}", id=id),
            query={"organisation": organisation},
            body={"name": name, "team": team, "is_archived": is_archived, "seen": seen},
        )

    def delete(self, id: Ref, /) -> None:
        """For admins and who made it; 409 with the numbers of what it holds, unless it is empty.

        DELETE /projects/{id}
        """
        self._transport.content("DELETE", path_of("/projects/{id}", id=id))

    def deletion(self, id: Ref, /, *, organisation: str | None = None) -> r.ProjectContents:
        """What deleting the project with all its data would remove, and what forbids it; for its admins.

        GET /projects/{id}/deletion

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.record(
            r.ProjectContents, "GET", path_of("/projects/{id}/deletion", id=id), query={"organisation": organisation}
        )

    def create_deletion(self, id: Ref, /, *, name: str) -> r.ProjectDeletion:
        """Deletes a project with all its data, in the background, for good. It is archived at once, and cannot be
        opened again. For its admins. 409 while jobs or studies have not ended.

        POST /projects/{id}/deletion

        name: The project's name, to confirm.
        """
        return self._transport.record(
            r.ProjectDeletion, "POST", path_of("/projects/{id}/deletion", id=id), body={"name": name}
        )

    def permissions(self, id: Ref, /, *, organisation: str | None = None, username: str | None = None) -> r.Permissions:
        """Where one's role comes from, what it allows, and who gives the role that other actions need.

        GET /projects/{id}/permissions

        organisation: Where the address has a name: of which organisation, by id or name.
        username: Of this member, for admins of the place; left out: of the caller.
        """
        return self._transport.record(
            r.Permissions,
            "GET",
            path_of("/projects/{id}/permissions", id=id),
            query={"organisation": organisation, "username": username},
        )

    def update_quota(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        max_gpus: int | Unset | None = UNSET,
        gpus_by_type: Mapping[str, int] | Unset = UNSET,
        guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        borrow_limit_by_type: Mapping[str, int] | Unset = UNSET,
        lend_limit_by_type: Mapping[str, int] | Unset = UNSET,
        max_cpus: int | Unset | None = UNSET,
        max_memory_bytes: int | Unset | None = UNSET,
        max_running_jobs: int | Unset | None = UNSET,
        guarantee: int | Unset | None = UNSET,
        borrow_limit: int | Unset | None = UNSET,
        lend_limit: int | Unset | None = UNSET,
        reclaim: v.ReclaimEnum | Unset = UNSET,
        weight: float | Unset = UNSET,
        shares_fairly: bool | Unset = UNSET,
        half_life_s: float | Unset = UNSET,
        budgets: Sequence[b.BudgetRequest] | Unset = UNSET,
        max_waiting_jobs: int | Unset | None = UNSET,
        max_storage_bytes: int | Unset | None = UNSET,
        max_priority: int | Unset | None = UNSET,
        version: int | Unset = UNSET,
    ) -> r.QuotaOwner:
        """For admins of the team or organisation above it, within its guarantee; counts from the next round on.

        Nothing is ended: what is used above a guarantee counts as borrowed from then on, as the answer shows.

        PATCH /projects/{id}/quota

        organisation: Where the address has a name: of which organisation, by id or name.
        max_gpus: The most GPUs that may be in use at a time; null: no limit.
        gpus_by_type: The most GPUs of single types that may be in use at a time, by type; a type that is not named:
        no limit.
        guarantee_by_type: GPUs of single types that are guaranteed, by type: a part of the guarantee, or all of it
        where that is null.
        borrow_limit_by_type: The most GPUs of single types that may be borrowed above what is guaranteed of the
        type, by type; a type that is not named: no limit.
        lend_limit_by_type: The most GPUs guaranteed of single types that others may borrow while they are unused,
        by type; a type that is not named: no limit.
        max_cpus: The most CPUs that pods may request at a time; null: no limit.
        max_memory_bytes: The most bytes of memory that pods may request at a time; null: no limit.
        max_running_jobs: The most jobs that may run at a time; null: no limit.
        guarantee: GPUs that are guaranteed; null: none.
        borrow_limit: The most GPUs that may be borrowed above the guarantee; null: no limit.
        lend_limit: The most guaranteed GPUs that others may borrow while they are unused; null: no limit.
        reclaim: From whom lent GPUs may be taken back by preemption.
        weight: The share of unguaranteed GPUs, relative to siblings.
        shares_fairly: Whether unguaranteed GPUs are shared by weight, whatever the policy.
        half_life_s: 0: past use is no matter.
        budgets: Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.
        max_waiting_jobs: The most jobs that may wait in the queue; null: no limit but the installation's.
        max_storage_bytes: The most bytes that may be stored, with all below it; each content counts once; null: no
        limit.
        max_priority: The highest priority that members may give their jobs; null: what holds above it, 50 if
        nothing does.
        version: The version that the caller saw; 409 when it is stale.
        """
        return self._transport.record(
            r.QuotaOwner,
            "PATCH",
            path_of("/projects/{id}/quota", id=id),
            query={"organisation": organisation},
            body={
                "max_gpus": max_gpus,
                "gpus_by_type": gpus_by_type,
                "guarantee_by_type": guarantee_by_type,
                "borrow_limit_by_type": borrow_limit_by_type,
                "lend_limit_by_type": lend_limit_by_type,
                "max_cpus": max_cpus,
                "max_memory_bytes": max_memory_bytes,
                "max_running_jobs": max_running_jobs,
                "guarantee": guarantee,
                "borrow_limit": borrow_limit,
                "lend_limit": lend_limit,
                "reclaim": reclaim,
                "weight": weight,
                "shares_fairly": shares_fairly,
                "half_life_s": half_life_s,
                "budgets": budgets,
                "max_waiting_jobs": max_waiting_jobs,
                "max_storage_bytes": max_storage_bytes,
                "max_priority": max_priority,
                "version": version,
            },
        )

    def list_quota_boosts(self, id: Ref, /, *, organisation: str | None = None) -> ApiRows[r.QuotaBoost]:
        """Boosts that are in effect, and those to come: is_in_effect says which. The one that begins first is at the
        top.

        GET /projects/{id}/quota/boosts

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.rows(
            r.QuotaBoost, "GET", path_of("/projects/{id}/quota/boosts", id=id), query={"organisation": organisation}
        )

    def create_quota_boost(
        self,
        id: Ref,
        /,
        *,
        ends_at: datetime | str,
        organisation: str | None = None,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        starts_at: datetime | str | Unset | None = UNSET,
        reason: str | Unset = UNSET,
    ) -> r.QuotaBoostMade:
        """Raises the quota until a time, from the next scheduling round on or from starts_at, by who may change it.

        It ends by itself: what is used above the guarantee then counts as borrowed, and jobs above max_gpus save a
        checkpoint and wait.

        POST /projects/{id}/quota/boosts

        organisation: Where the address has a name: of which organisation, by id or name.
        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        starts_at: When it begins, before ends_at and at most 366 days from now; null, or left out: now. Without an
        offset it is UTC.
        ends_at: When it ends by itself; at most 366 days from now. Without an offset it is UTC.
        reason: Why, for those who see the quota.
        """
        return self._transport.record(
            r.QuotaBoostMade,
            "POST",
            path_of("/projects/{id}/quota/boosts", id=id),
            query={"organisation": organisation},
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "reason": reason,
            },
        )

    def list_quota_burn_down(self, id: Ref, /, *, organisation: str | None = None) -> ApiRows[r.BurnDown]:
        """How each budget of GPU-hours is used in its present period, and when it would be used up.

        GET /projects/{id}/quota/burn-down

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.rows(
            r.BurnDown, "GET", path_of("/projects/{id}/quota/burn-down", id=id), query={"organisation": organisation}
        )

    def quota_requests(
        self,
        id: Ref,
        /,
        *,
        reason: str,
        organisation: str | None = None,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        starts_at: datetime | str | Unset | None = UNSET,
        ends_at: datetime | str | Unset | None = UNSET,
    ) -> r.RequestedQuota:
        """Asks for more, by who may submit; admins of the organisation (for its own quota: of the platform) decide.

        POST /projects/{id}/quota/requests

        organisation: Where the address has a name: of which organisation, by id or name.
        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        starts_at: From when on, before ends_at and at most 366 days from now; null: from the approval on.
        ends_at: Until when, at most 366 days from now; null: for good.
        reason: What they are for, to who decides.
        """
        return self._transport.record(
            r.RequestedQuota,
            "POST",
            path_of("/projects/{id}/quota/requests", id=id),
            query={"organisation": organisation},
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "reason": reason,
            },
        )

    def restore_quota(
        self, id: Ref, /, *, version: int, organisation: str | None = None, seen: int | Unset = UNSET
    ) -> r.QuotaOwner:
        """Gives the quota the rules that it had at an older version, as a new version, by who may change it.

        POST /projects/{id}/quota/restore

        organisation: Where the address has a name: of which organisation, by id or name.
        version: The version whose rules are restored, as a new version.
        seen: The present version, as the caller saw it; 409 when it is stale.
        """
        return self._transport.record(
            r.QuotaOwner,
            "POST",
            path_of("/projects/{id}/quota/restore", id=id),
            query={"organisation": organisation},
            body={"version": version, "seen": seen},
        )

    def quota_users(self, id: Ref, /, *, organisation: str | None = None) -> r.UserQuotas:
        """What each user may have here, and has now: the limits of every user, and exceptions.

        GET /projects/{id}/quota/users

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.record(
            r.UserQuotas, "GET", path_of("/projects/{id}/quota/users", id=id), query={"organisation": organisation}
        )

    def update_quota_user(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        username: str | Unset | None = UNSET,
        max_gpus: int | Unset | None = UNSET,
        gpus_by_type: Mapping[str, int] | Unset = UNSET,
        max_cpus: int | Unset | None = UNSET,
        max_memory_bytes: int | Unset | None = UNSET,
        max_running_jobs: int | Unset | None = UNSET,
        max_waiting_jobs: int | Unset | None = UNSET,
        max_storage_bytes: int | Unset | None = UNSET,
        budgets: Sequence[b.BudgetRequest] | Unset = UNSET,
        version: int | Unset = UNSET,
    ) -> r.UserQuota:
        """Changes what a user may have here, by its admins; counts from the next round on.

        A person's first own limits begin as those of every user. No job is ended: jobs above a limit save a
        checkpoint
        and wait.

        PATCH /projects/{id}/quota/users

        organisation: Where the address has a name: of which organisation, by id or name.
        username: Whose limits; null: those of every user who has none of their own.
        max_gpus: The most GPUs that the user's jobs may hold at a time; null: no limit.
        gpus_by_type: The most GPUs of a type that the user's jobs may hold at a time, by type; a type without a
        number: no limit.
        max_cpus: The most CPUs that pods of the user's jobs may request at a time; null: no limit.
        max_memory_bytes: The most bytes of memory that pods of the user's jobs may request at a time; null: no
        limit.
        max_running_jobs: The most jobs that the user may run at a time; null: no limit.
        max_waiting_jobs: The most jobs that the user may have waiting; null: no limit but the installation's.
        max_storage_bytes: The most bytes that the user may store, of an organisation only; null: no limit.
        budgets: Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.
        version: The version that the caller saw, 0: there were none; 409 when it is stale.
        """
        return self._transport.record(
            r.UserQuota,
            "PATCH",
            path_of("/projects/{id}/quota/users", id=id),
            query={"organisation": organisation},
            body={
                "username": username,
                "max_gpus": max_gpus,
                "gpus_by_type": gpus_by_type,
                "max_cpus": max_cpus,
                "max_memory_bytes": max_memory_bytes,
                "max_running_jobs": max_running_jobs,
                "max_waiting_jobs": max_waiting_jobs,
                "max_storage_bytes": max_storage_bytes,
                "budgets": budgets,
                "version": version,
            },
        )

    def list_quota_versions(self, id: Ref, /, *, organisation: str | None = None) -> ApiRows[r.QuotaVersion]:
        """Who changed the quota, when, and what; the newest 100 changes, newest first.

        GET /projects/{id}/quota/versions

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.rows(
            r.QuotaVersion, "GET", path_of("/projects/{id}/quota/versions", id=id), query={"organisation": organisation}
        )

    def retention(self, id: Ref, /, *, organisation: str | None = None) -> r.Retention:
        """How long the project keeps what its jobs leave, by kind, and what there is of it.

        GET /projects/{id}/retention

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.record(
            r.Retention, "GET", path_of("/projects/{id}/retention", id=id), query={"organisation": organisation}
        )

    def update_retention(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        logs: float | Unset | None = UNSET,
        metrics: float | Unset | None = UNSET,
        usage: float | Unset | None = UNSET,
        results: float | Unset | None = UNSET,
        checkpoints: float | Unset | None = UNSET,
        failed_checkpoints: float | Unset | None = UNSET,
        version: int | Unset = UNSET,
    ) -> r.Retention:
        """Changes how long it is kept, by admins of the organisation; what is due is removed within some minutes.

        PATCH /projects/{id}/retention

        organisation: Where the address has a name: of which organisation, by id or name.
        logs: Lines of attempts, from the attempt's end on. Days; 0: for good; null: by default.
        metrics: Points of curves, from the job's end on; final metrics stay. Days; 0: for good; null: by default.
        usage: Resource use of pods, from the attempt's end on. Days; 0: for good; null: by default.
        results: Files of predictions, from the attempt's end on. Days; 0: for good; null: by default.
        checkpoints: Checkpoints of jobs that succeeded or were cancelled, from the end on; pinned ones stay. Days;
        0: for good; null: by default.
        failed_checkpoints: Checkpoints of jobs that failed, and folders of notebooks; pinned ones stay. Days; 0:
        for good; null: by default.
        version: The version that the caller saw; 409 with both versions when it is stale.
        """
        return self._transport.record(
            r.Retention,
            "PATCH",
            path_of("/projects/{id}/retention", id=id),
            query={"organisation": organisation},
            body={
                "logs": logs,
                "metrics": metrics,
                "usage": usage,
                "results": results,
                "checkpoints": checkpoints,
                "failed_checkpoints": failed_checkpoints,
                "version": version,
            },
        )

    def retention_preview(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        logs: float | Unset | None = UNSET,
        metrics: float | Unset | None = UNSET,
        usage: float | Unset | None = UNSET,
        results: float | Unset | None = UNSET,
        checkpoints: float | Unset | None = UNSET,
        failed_checkpoints: float | Unset | None = UNSET,
    ) -> ApiRows[r.Reclaimable]:
        """What would be removed now if so many days were kept, of the kinds that are given; nothing is changed.

        POST /projects/{id}/retention/preview

        organisation: Where the address has a name: of which organisation, by id or name.
        logs: Lines of attempts, from the attempt's end on. Days; 0: for good; null: by default.
        metrics: Points of curves, from the job's end on; final metrics stay. Days; 0: for good; null: by default.
        usage: Resource use of pods, from the attempt's end on. Days; 0: for good; null: by default.
        results: Files of predictions, from the attempt's end on. Days; 0: for good; null: by default.
        checkpoints: Checkpoints of jobs that succeeded or were cancelled, from the end on; pinned ones stay. Days;
        0: for good; null: by default.
        failed_checkpoints: Checkpoints of jobs that failed, and folders of notebooks; pinned ones stay. Days; 0:
        for good; null: by default.
        """
        return self._transport.rows(
            r.Reclaimable,
            "POST",
            path_of("/projects/{id}/retention/preview", id=id),
            query={"organisation": organisation},
            body={
                "logs": logs,
                "metrics": metrics,
                "usage": usage,
                "results": results,
                "checkpoints": checkpoints,
                "failed_checkpoints": failed_checkpoints,
            },
        )

    def list_roles(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        role: Sequence[Literal["admin", "auditor", "member", "outsider", "owner", "submitter", "viewer"]] | None = None,
        search: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.PersonRoles]:
        """Who has a role in the project, and from where: the organisation, a team above it, or given here. Who has a
        role
        here alone is not shown the organisation's other people.

        GET /projects/{id}/roles

        organisation: Where the address has a name: of which organisation, by id or name.
        role: Only those who have one of these roles, given here or in what is above.
        search: Only those whose user name or full name contains this; asked by an admin of the organisation, or
        whose e-mail address does.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.PersonRoles,
            path_of("/projects/{id}/roles", id=id),
            query={"organisation": organisation, "role": role, "search": search},
            size=page_size,
        )

    def create_role(
        self, id: Ref, /, *, username: str, role: v.BoundRole, organisation: str | None = None
    ) -> r.RoleBinding:
        """Gives a member of the organisation a role here, besides that in the organisation; for admins of the place.

        POST /projects/{id}/roles

        organisation: Where the address has a name: of which organisation, by id or name.
        username: The user name of a member of the organisation.
        role: The role to give.
        """
        return self._transport.record(
            r.RoleBinding,
            "POST",
            path_of("/projects/{id}/roles", id=id),
            query={"organisation": organisation},
            body={"username": username, "role": role},
        )

    def list_secrets(
        self, id: Ref, /, *, organisation: str | None = None, search: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.Secret]:
        """The project's secrets by name, without their values.

        GET /projects/{id}/secrets

        organisation: Where the address has a name: of which organisation, by id or name.
        search: Only those whose name contains this.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Secret,
            path_of("/projects/{id}/secrets", id=id),
            query={"organisation": organisation, "search": search},
            size=page_size,
        )

    def set_secret(self, id: Ref, name: Ref, /, *, value: str, organisation: str | None = None) -> r.Secret:
        """Sets the secret or replaces its value, which is encrypted and never shown again; for members.

        PUT /projects/{id}/secrets/{name}

        organisation: Where the address has a name: of which organisation, by id or name.
        value: The value; it is encrypted and never shown again.
        """
        return self._transport.record(
            r.Secret,
            "PUT",
            path_of("/projects/{id}/secrets/{name}", id=id, name=name),
            query={"organisation": organisation},
            body={"value": value},
        )

    def delete_secret(self, id: Ref, name: Ref, /) -> None:
        """Deletes the secret; pods that run already keep it. For members.

        DELETE /projects/{id}/secrets/{name}
        """
        self._transport.content("DELETE", path_of("/projects/{id}/secrets/{name}", id=id, name=name))


class QueueOperations:
    """The operations under /queue."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(
        self,
        *,
        after: int | None = None,
        fields: str | None = None,
        gpu_type: str | None = None,
        limit: int | None = None,
        organisation: str | None = None,
        owner: str | None = None,
    ) -> r.Queue:
        """Jobs that wait, in the order in which the scheduler serves them, each with the newest round's reasons.

        GET /queue

        after: Only jobs behind that place.
        fields: Only these members of each row, separated by commas, such as id,name,state; all when absent.
        gpu_type: Only jobs that may use GPUs of this type; places stay those of the whole queue.
        limit: At most 200.
        organisation: Only jobs of this organisation.
        owner: Only jobs that the person of this user name submitted.
        """
        return self._transport.record(
            r.Queue,
            "GET",
            path_of("/queue"),
            query={
                "after": after,
                "fields": fields,
                "gpu_type": gpu_type,
                "limit": limit,
                "organisation": organisation,
                "owner": owner,
            },
        )

    def moves(self, *, job: str, before: str | Unset = UNSET, after: str | Unset = UNSET) -> r.SimulatedMove:
        """Which priority would bring a waiting job before or behind another one, and what that costs whom: the live
        policy decides with and without it. For those who may change the job's priority.

        POST /queue/moves

        job: The id of the job that would move.
        before: The id of the job before which it would be served.
        after: The id of the job behind which it would be served.
        """
        return self._transport.record(
            r.SimulatedMove, "POST", path_of("/queue/moves"), body={"job": job, "before": before, "after": after}
        )

    def waits(self) -> r.Waits:
        """The median wait of jobs that made their first step in the last 24 hours.

        GET /queue/waits
        """
        return self._transport.record(r.Waits, "GET", path_of("/queue/waits"))


class QuotaBoostsOperations:
    """The operations under /quota-boosts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def end(self, id: Ref, /) -> None:
        """Ends a boost before its time, or cancels one to come, by who may change the quota.

        POST /quota-boosts/{id}/end
        """
        self._transport.content("POST", path_of("/quota-boosts/{id}/end", id=id))


class QuotaRequestsOperations:
    """The operations under /quota-requests."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, *, is_waiting: bool | None = None, organisation: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.RequestedQuota]:
        """Requests for quota in the caller's organisations, the newest first.

        GET /quota-requests

        is_waiting: Only those that wait, or were answered.
        organisation: Only those of this organisation, by id or name.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.RequestedQuota,
            path_of("/quota-requests"),
            query={"is_waiting": is_waiting, "organisation": organisation},
            size=page_size,
        )

    def approve(
        self,
        id: Ref,
        /,
        *,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        note: str | Unset = UNSET,
    ) -> r.ApprovedQuota:
        """Gives what is asked for, or other amounts, by who may change the quota: as a boost, or for good.

        POST /quota-requests/{id}/approve

        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        note: A word to who asked.
        """
        return self._transport.record(
            r.ApprovedQuota,
            "POST",
            path_of("/quota-requests/{id}/approve", id=id),
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "note": note,
            },
        )

    def refuse(self, id: Ref, /, *, note: str) -> r.RequestedQuota:
        """Refuses it with a reason, by who may change the quota.

        POST /quota-requests/{id}/refuse

        note: Why, to who asked.
        """
        return self._transport.record(
            r.RequestedQuota, "POST", path_of("/quota-requests/{id}/refuse", id=id), body={"note": note}
        )

    def withdraw(self, id: Ref, /) -> r.RequestedQuota:
        """Takes it back, by who made it.

        POST /quota-requests/{id}/withdraw
        """
        return self._transport.record(r.RequestedQuota, "POST", path_of("/quota-requests/{id}/withdraw", id=id))


class RoleBindingsOperations:
    """The operations under /role-bindings."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def update(self, id: Ref, /, *, role: v.BoundRole | Unset = UNSET) -> r.RoleBinding:
        """Another role in the same place; for admins of the place.

        PATCH /role-bindings/{id}

        role: The new role.
        """
        return self._transport.record(
            r.RoleBinding, "PATCH", path_of("/role-bindings/{id}", id=id), body={"role": role}
        )

    def delete(self, id: Ref, /) -> None:
        """Withdraws it, for admins of the place, or gives up one's own. Open streams and downloads end at once.

        DELETE /role-bindings/{id}
        """
        self._transport.content("DELETE", path_of("/role-bindings/{id}", id=id))


class RoundsOperations:
    """The operations under /rounds."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, job: str | None = None, page_size: int = PAGE_SIZE) -> Pages[r.Round]:
        """What the scheduler decided, newest first. Rounds name all tenants' jobs, so others than platform
        administrators
        must name a job of theirs, and see only what was done to it.

        GET /rounds

        job: Only rounds that acted on this job.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Round, path_of("/rounds"), query={"job": job}, size=page_size)

    def get(self, id: Ref, /) -> r.RoundDetail:
        """A round with its snapshot and its plan; for platform administrators.

        GET /rounds/{id}
        """
        return self._transport.record(r.RoundDetail, "GET", path_of("/rounds/{id}", id=id))


class RunsOperations:
    """The operations under /runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        organisation: str | None = None,
        parent_job: str | None = None,
        project: str | None = None,
        search: str | None = None,
        status: Literal["FAILED", "FINISHED", "KILLED", "RUNNING", "SCHEDULED"] | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Run]:
        """Runs that programs elsewhere logged, and those that jobs started besides their own; newest first.

        GET /runs

        organisation: Only those of this organisation, by id or name.
        parent_job: Only those that this job's pods started.
        project: Only those of this project, by id or name.
        search: Only those of which each word is in the name, project or owner, or begins the id, in any case; of a
        word such as lr=0.1, those with a parameter or tag of that name and value; lr=: of that name; loss<0.5 (>,
        <=, >=): with a parameter, or the newest value of a metric, of which this is so. Quotation marks keep
        spaces.
        status: Only those of this status.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Run,
            path_of("/runs"),
            query={
                "organisation": organisation,
                "parent_job": parent_job,
                "project": project,
                "search": search,
                "status": status,
            },
            size=page_size,
        )

    def get(self, id: Ref, /) -> r.RunDetail:
        """One run; its parameters, tags, metrics and files have addresses of their own.

        GET /runs/{id}
        """
        return self._transport.record(r.RunDetail, "GET", path_of("/runs/{id}", id=id))

    def delete(self, id: Ref, /) -> None:
        """For good, with curves and artifacts. For who made it, and admins.

        DELETE /runs/{id}
        """
        self._transport.content("DELETE", path_of("/runs/{id}", id=id))

    def list_artifacts(self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE) -> Pages[r.RunFile]:
        """The run's artifacts, by path.

        GET /runs/{id}/artifacts

        search: Only those whose path contains this, in any case.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport, r.RunFile, path_of("/runs/{id}/artifacts", id=id), query={"search": search}, size=page_size
        )

    def download_artifact(self, id: Ref, path: Ref, /, *, to: str | PathLike[str]) -> Path:
        """One of the run's artifacts; one byte range, and an entity tag to ask again.

        GET /runs/{id}/artifacts/{path}

        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/runs/{id}/artifacts/{path}", id=id, path=path), to=to)

    def list_datasets(
        self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.RunDataset]:
        """The datasets that the run names as its inputs, by name.

        GET /runs/{id}/datasets

        search: Only those whose name contains this, in any case.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.RunDataset,
            path_of("/runs/{id}/datasets", id=id),
            query={"search": search},
            size=page_size,
        )

    def metrics(
        self,
        id: Ref,
        /,
        *,
        key: str,
        first_step: int | None = None,
        last_step: int | None = None,
        max_points: int | None = None,
    ) -> r.RunCurve:
        """One metric's curve, or the part of it within a range of steps, of which less is left out.

        GET /runs/{id}/metrics

        first_step: Only points from this step on.
        key: The metric's name.
        last_step: Only points up to this step.
        max_points: The most points of the answer; of a longer curve the lowest and highest of each stretch are
        left.
        """
        return self._transport.record(
            r.RunCurve,
            "GET",
            path_of("/runs/{id}/metrics", id=id),
            query={"first_step": first_step, "key": key, "last_step": last_step, "max_points": max_points},
        )

    def list_metrics_names(
        self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE
    ) -> Pages[r.RunMetric]:
        """The names of the run's metrics with their newest values, by name, without their curves.

        GET /runs/{id}/metrics/names

        search: Only those with this in their name, in any case.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.RunMetric,
            path_of("/runs/{id}/metrics/names", id=id),
            query={"search": search},
            size=page_size,
        )

    def list_params(self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE) -> Pages[r.RunEntry]:
        """The run's parameters, by name.

        GET /runs/{id}/params

        search: Only those whose name or value contains this, in any case.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport, r.RunEntry, path_of("/runs/{id}/params", id=id), query={"search": search}, size=page_size
        )

    def list_tags(self, id: Ref, /, *, search: str | None = None, page_size: int = PAGE_SIZE) -> Pages[r.RunEntry]:
        """The run's tags, by name.

        GET /runs/{id}/tags

        search: Only those whose name or value contains this, in any case.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport, r.RunEntry, path_of("/runs/{id}/tags", id=id), query={"search": search}, size=page_size
        )

    def compare(self, *, runs: Sequence[str]) -> r.ComparedRuns:
        """Names, parameters and newest values of many runs: a column for each name, with a value for each run.

        POST /runs/compare

        runs: The ids of the runs; jobs are compared by addresses of their own.
        """
        return self._transport.record(r.ComparedRuns, "POST", path_of("/runs/compare"), body={"runs": runs})

    def compare_curves(
        self, *, runs: Sequence[str], metric: str, max_points: int | Unset = UNSET, axis: v.RunAxis | Unset = UNSET
    ) -> r.ComparedRunCurves:
        """The curves of one metric of many runs: of each its ends, and the lowest and highest point of each stretch.

        POST /runs/compare/curves

        max_points: Of a curve; times the curves at most 8000.
        runs: The ids of the runs; jobs are compared by addresses of their own.
        metric: The metric, such as train/loss.
        axis: What the curves are drawn over; wall: seconds since the first point of each, by the client's clock.
        """
        return self._transport.record(
            r.ComparedRunCurves,
            "POST",
            path_of("/runs/compare/curves"),
            body={"max_points": max_points, "runs": runs, "metric": metric, "axis": axis},
        )


class SchedulerOperations:
    """The operations under /scheduler."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def admission_pause(self) -> r.Admission:
        """Whether admission is paused, since when, until when and why.

        GET /scheduler/admission-pause
        """
        return self._transport.record(r.Admission, "GET", path_of("/scheduler/admission-pause"))

    def set_admission_pause(
        self, *, reason: str, until: datetime | str | Unset | None = UNSET, version: int | Unset | None = UNSET
    ) -> r.Admission:
        """Pauses admission from the next round on: no waiting job is started, running jobs go on. While it is paused,
        changes the reason and the end; 409 with both versions where another administrator was first. Platform
        administrators only.

        PUT /scheduler/admission-pause

        reason: Why admission is paused; everybody whose jobs wait reads it.
        until: When it is resumed by itself; null or left out: when an administrator resumes it.
        version: The version that was seen, 0: it was not paused; 409 when it is stale. Left out: whatever it is.
        """
        return self._transport.record(
            r.Admission,
            "PUT",
            path_of("/scheduler/admission-pause"),
            body={"reason": reason, "until": until, "version": version},
        )

    def delete_admission_pause(self) -> None:
        """Resumes admission: the next round starts jobs again. Nothing changes while it is not paused. Platform
        administrators only.

        DELETE /scheduler/admission-pause
        """
        self._transport.content("DELETE", path_of("/scheduler/admission-pause"))

    def insight(self) -> r.Insight:
        """How forecasts came true, what restarts cost, and what the shadow would do. Platform administrators only.

        GET /scheduler/insight
        """
        return self._transport.record(r.Insight, "GET", path_of("/scheduler/insight"))

    def list_replays(self, *, page_size: int = PAGE_SIZE) -> Pages[r.Replay]:
        """Replays of the policy lab, newest first. They are kept for MLHUB_KEEP_REPLAYS_DAYS.

        GET /scheduler/replays

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Replay, path_of("/scheduler/replays"), size=page_size)

    def create_replay(
        self,
        *,
        policies: Sequence[b.ReplayPolicyRequest],
        name: str | Unset = UNSET,
        since: datetime | str | Unset = UNSET,
        until: datetime | str | Unset = UNSET,
        trace: b.TraceRequest | Unset = UNSET,
    ) -> r.Replay:
        """Simulates a period of the platform's history, by default the last day, or a trace under other policies.

        The policy that ran is always simulated, too. 422 names the field, of a trace also the row.

        POST /scheduler/replays

        name: What the list of replays calls it.
        since: The beginning of the period; a day before its end if it is not given.
        until: The end of the period; now if it is not given.
        trace: A trace in place of a period; it runs on the nodes of now.
        policies: Policies to compare with the one that ran (of a trace: the one that decides now).
        """
        return self._transport.record(
            r.Replay,
            "POST",
            path_of("/scheduler/replays"),
            body={"name": name, "since": since, "until": until, "trace": trace, "policies": policies},
        )

    def replay(self, id: Ref, /) -> r.ReplayDetail:
        """A replay with its figures; for platform administrators.

        GET /scheduler/replays/{id}
        """
        return self._transport.record(r.ReplayDetail, "GET", path_of("/scheduler/replays/{id}", id=id))

    def cancel_replay(self, id: Ref, /) -> r.Replay:
        """Cancels a replay that waits or runs; it ends within seconds. 409 when it has ended.

        POST /scheduler/replays/{id}/cancel
        """
        return self._transport.record(r.Replay, "POST", path_of("/scheduler/replays/{id}/cancel", id=id))

    def download_replayed_jobs(self, id: Ref, /, *, to: str | PathLike[str]) -> Path:
        """Every job with its completion time in seconds, as it really was and under each policy, as a CSV file.

        GET /scheduler/replays/{id}/jobs.csv

        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(path_of("/scheduler/replays/{id}/jobs.csv", id=id), to=to)

    def settings(self) -> r.SchedulerSettings:
        """The policy that decides, its parameters, and what there is to choose from.

        GET /scheduler/settings
        """
        return self._transport.record(r.SchedulerSettings, "GET", path_of("/scheduler/settings"))

    def update_settings(
        self,
        *,
        policy: str | Unset = UNSET,
        parameters: Mapping[str, Any] | Unset = UNSET,
        budget_s: float | Unset = UNSET,
        shadow_policy: str | Unset = UNSET,
        shadow_parameters: Mapping[str, Any] | Unset = UNSET,
        shares_fairly: bool | Unset = UNSET,
        half_life_s: float | Unset = UNSET,
        version: int | Unset = UNSET,
    ) -> r.SchedulerSettings:
        """Platform administrators only; counts from the next round on. 422 names an unknown policy or parameter.

        PATCH /scheduler/settings

        policy: The policy that decides.
        parameters: The policy's parameters, by name.
        budget_s: How long a policy may take for a round, in seconds.
        shadow_policy: A second policy that decides without effect; empty: none.
        shadow_parameters: The shadow policy's parameters, by name.
        shares_fairly: What no organisation is guaranteed goes to them by weight.
        half_life_s: Of their use; 0: past use is no matter.
        version: The version that the caller saw; 409 when it is stale.
        """
        return self._transport.record(
            r.SchedulerSettings,
            "PATCH",
            path_of("/scheduler/settings"),
            body={
                "policy": policy,
                "parameters": parameters,
                "budget_s": budget_s,
                "shadow_policy": shadow_policy,
                "shadow_parameters": shadow_parameters,
                "shares_fairly": shares_fairly,
                "half_life_s": half_life_s,
                "version": version,
            },
        )

    def status(self) -> r.SchedulerStatus:
        """How the scheduler does: what decides, when the last round was, whether something failed.

        GET /scheduler/status
        """
        return self._transport.record(r.SchedulerStatus, "GET", path_of("/scheduler/status"))


class ServiceAccountsOperations:
    """The operations under /service-accounts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def update(self, id: Ref, /, *, role: v.Role | Unset = UNSET, is_active: bool | Unset = UNSET) -> r.ServiceAccount:
        """Another role, deactivated or active again; for admins. Deactivating refuses its tokens at once.

        PATCH /service-accounts/{id}

        role: member, submitter, viewer or outsider; left out: as it is.
        is_active: Whether its tokens are accepted; left out: as it is.
        """
        return self._transport.record(
            r.ServiceAccount,
            "PATCH",
            path_of("/service-accounts/{id}", id=id),
            body={"role": role, "is_active": is_active},
        )

    def delete(self, id: Ref, /, *, reassign_to: str | None = None) -> None:
        """For good. 409 with the numbers of what it made, unless `reassign_to` names a member who becomes the maker.

        DELETE /service-accounts/{id}

        reassign_to: The id of the user who becomes the maker of what remains.
        """
        self._transport.content("DELETE", path_of("/service-accounts/{id}", id=id), query={"reassign_to": reassign_to})

    def deletion(self, id: Ref, /) -> r.UserDeletion:
        """What a deletion would leave to a member of the organisation; for admins.

        GET /service-accounts/{id}/deletion
        """
        return self._transport.record(r.UserDeletion, "GET", path_of("/service-accounts/{id}/deletion", id=id))

    def list_tokens(self, id: Ref, /, *, page_size: int = PAGE_SIZE) -> Pages[r.Token]:
        """The tokens that the account has, the newest first; for admins.

        GET /service-accounts/{id}/tokens

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Token, path_of("/service-accounts/{id}/tokens", id=id), size=page_size)

    def create_token(
        self,
        id: Ref,
        /,
        *,
        name: str,
        scopes: Sequence[v.ScopesEnum],
        project: str | Unset | None = UNSET,
        expires_in_days: int | Unset = UNSET,
    ) -> r.TokenCreated:
        """A new token for the account, whose secret is in this answer only. For admins, in a session.

        POST /service-accounts/{id}/tokens

        name: The name; at most 100 characters.
        scopes: What it may do: read; submit (upload, run jobs); write (also manage projects).
        project: The id of the only project to reach; null: all of the organisation.
        expires_in_days: For how many days it works.
        """
        return self._transport.record(
            r.TokenCreated,
            "POST",
            path_of("/service-accounts/{id}/tokens", id=id),
            body={"name": name, "scopes": scopes, "project": project, "expires_in_days": expires_in_days},
        )

    def delete_token(self, id: Ref, token_id: Ref, /) -> None:
        """Revokes the token at once; for admins.

        DELETE /service-accounts/{id}/tokens/{token_id}
        """
        self._transport.content("DELETE", path_of("/service-accounts/{id}/tokens/{token_id}", id=id, token_id=token_id))


class StrategiesOperations:
    """The operations under /strategies."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> ApiRows[r.Strategy]:
        """How workers may agree on one model: what a job's `strategy` may name.

        GET /strategies
        """
        return self._transport.rows(r.Strategy, "GET", path_of("/strategies"))


class StreamOperations:
    """The operations under /stream."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def follow(self, *, cursor: str = "") -> Iterator[StreamEvent]:
        """Everything that happens in the caller's organisations.

        Frames are server-sent events; each `data` is a line of JSON, with the schema in x-events:

        - `event`: an event; the id of the frame begins with the event's
        - `changed`: something changed of which no event is kept; read again what is shown of these kinds
        - `heartbeat`: at once, and every 5 s while nothing else comes, {}; a stream that is silent for 10 s has
        stalled, and is to be opened anew

        After a reconnect, send the id of the last frame that had one as the header Last-Event-ID (browsers do) or
        as `last_event_id`: nothing that happened between is lost. The first frame has an id already.
        `stream_cursor` of GET /auth/me is such an id: what came after that answer is reported from there on. The
        last frame is the event `end`, {code, detail}, when the caller's session, token, role or membership was
        taken away, or when there is nothing left to follow.

        GET /stream

        cursor: the id of the last frame that was seen; without it, the stream begins now.
        """
        return self._transport.stream(path_of("/stream"), cursor=cursor)


class StudiesOperations:
    """The operations under /studies."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        dataset_version: str | None = None,
        name: str | None = None,
        organisation: str | None = None,
        project: str | None = None,
        ref: str | None = None,
        state: Sequence[Literal["completed", "failed", "paused", "running", "stopped"]] | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Study]:
        """The studies that the caller may see, the newest first.

        GET /studies

        dataset_version: Only those whose trials read this dataset version.
        name: Only those of exactly this name.
        organisation: Only those of this organisation, by id or name.
        project: Only those of this project, by id or name.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        state: Only those in one of these states.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Study,
            path_of("/studies"),
            query={
                "dataset_version": dataset_version,
                "name": name,
                "organisation": organisation,
                "project": project,
                "ref": ref,
                "state": state,
            },
            size=page_size,
        )

    def create(
        self,
        *,
        name: str,
        job: b.JobSubmitRequest,
        space: Mapping[str, Any] | str,
        metric: str,
        direction: v.Direction,
        algorithm: v.Algorithm | Unset = UNSET,
        eta: int | Unset = UNSET,
        min_epochs: int | Unset = UNSET,
        steps: int | Unset = UNSET,
        min_steps: int | Unset = UNSET,
        seed: int | Unset = UNSET,
        max_parallel: int | Unset = UNSET,
        max_trials: int | Unset = UNSET,
        max_epochs: int | Unset | None = UNSET,
        max_gpu_hours: float | Unset | None = UNSET,
    ) -> r.Study:
        """Creates a study, which submits its first jobs in a moment. 422 names what no trial could run with.

        POST /studies

        name: The study's name; its jobs are named after it and the trial's number.
        job: The job of a trial, as POST /jobs takes it, without name and datasets. `epochs` is what a trial trains
        at most; the trial's hyperparameters are added to its own. priority is by default -50.
        space: The values that each hyperparameter may have, by its name; or the same as YAML.
        metric: The metric that jobs report and the search improves, such as eval/accuracy.
        direction: Whether larger or smaller values of the metric are better.
        algorithm: How trials are chosen.
        eta: Of asha: 1 of so many trials is trained on at each rung.
        min_epochs: Of asha: epochs of the first rung; by default 1/16 of the job's, or more where max_trials are
        few.
        steps: Of a script: the step, as it reports steps, to which a trial is trained; rungs are then steps.
        min_steps: Of asha with steps: the first rung; by default 1/16 of the steps, or more where max_trials are
        few.
        seed: The seed of the search; not that of its jobs.
        max_parallel: Trials that are trained or wait for GPUs at the same time.
        max_trials: How many trials are made at most.
        max_epochs: Epochs that all trials together may train; by default no limit.
        max_gpu_hours: GPU-hours after which the study ends; by default no limit.
        """
        return self._transport.record(
            r.Study,
            "POST",
            path_of("/studies"),
            body={
                "name": name,
                "job": job,
                "space": space,
                "metric": metric,
                "direction": direction,
                "algorithm": algorithm,
                "eta": eta,
                "min_epochs": min_epochs,
                "steps": steps,
                "min_steps": min_steps,
                "seed": seed,
                "max_parallel": max_parallel,
                "max_trials": max_trials,
                "max_epochs": max_epochs,
                "max_gpu_hours": max_gpu_hours,
            },
        )

    def get(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Study:
        """One study, with its search space and how far it is.

        GET /studies/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Study, "GET", path_of("/studies/{id}", id=id), query={"organisation": organisation, "project": project}
        )

    def delete(self, id: Ref, /) -> None:
        """One that has ended, with its trials; their jobs and models stay. 409 while it is live.

        DELETE /studies/{id}
        """
        self._transport.content("DELETE", path_of("/studies/{id}", id=id))

    def clone(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        name: str | Unset = UNSET,
        job: b.TrialJobChangeRequest | Unset = UNSET,
        space: Mapping[str, Any] | str | Unset = UNSET,
        metric: str | Unset = UNSET,
        direction: v.Direction | Unset = UNSET,
        algorithm: v.Algorithm | Unset = UNSET,
        eta: int | Unset = UNSET,
        min_epochs: int | Unset = UNSET,
        steps: int | Unset = UNSET,
        min_steps: int | Unset = UNSET,
        seed: int | Unset = UNSET,
        max_parallel: int | Unset = UNSET,
        max_trials: int | Unset = UNSET,
        max_epochs: int | Unset | None = UNSET,
        max_gpu_hours: float | Unset | None = UNSET,
    ) -> r.Study:
        """A new study with the same request, but for the fields in the body.

        POST /studies/{id}/clone

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        name: The study's name; its jobs are named after it and the trial's number.
        job: What shall be different of its jobs.
        space: The values that each hyperparameter may have, by its name; or the same as YAML.
        metric: The metric that jobs report and the search improves, such as eval/accuracy.
        direction: Whether larger or smaller values of the metric are better.
        algorithm: How trials are chosen.
        eta: Of asha: 1 of so many trials is trained on at each rung.
        min_epochs: Of asha: epochs of the first rung; by default 1/16 of the job's, or more where max_trials are
        few.
        steps: Of a script: the step, as it reports steps, to which a trial is trained; rungs are then steps.
        min_steps: Of asha with steps: the first rung; by default 1/16 of the steps, or more where max_trials are
        few.
        seed: The seed of the search; not that of its jobs.
        max_parallel: Trials that are trained or wait for GPUs at the same time.
        max_trials: How many trials are made at most.
        max_epochs: Epochs that all trials together may train; by default no limit.
        max_gpu_hours: GPU-hours after which the study ends; by default no limit.
        """
        return self._transport.record(
            r.Study,
            "POST",
            path_of("/studies/{id}/clone", id=id),
            query={"organisation": organisation, "project": project},
            body={
                "name": name,
                "job": job,
                "space": space,
                "metric": metric,
                "direction": direction,
                "algorithm": algorithm,
                "eta": eta,
                "min_epochs": min_epochs,
                "steps": steps,
                "min_steps": min_steps,
                "seed": seed,
                "max_parallel": max_parallel,
                "max_trials": max_trials,
                "max_epochs": max_epochs,
                "max_gpu_hours": max_gpu_hours,
            },
        )

    def extend(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        project: str | None = None,
        trials: int | Unset = UNSET,
        epochs: int | Unset = UNSET,
        gpu_hours: float | Unset = UNSET,
    ) -> r.Study:
        """Adds to the budget; a study that used its budget up goes on. Each call adds. 409 where it cannot go on.

        POST /studies/{id}/extend

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        trials: So many more trials.
        epochs: So many more epochs of all trials together, where the study has a limit of them.
        gpu_hours: So many more GPU-hours, where the study has a limit of them.
        """
        return self._transport.record(
            r.Study,
            "POST",
            path_of("/studies/{id}/extend", id=id),
            query={"organisation": organisation, "project": project},
            body={"trials": trials, "epochs": epochs, "gpu_hours": gpu_hours},
        )

    def importance(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Importance:
        """How much each hyperparameter matters, by the trials' results at the first rung.

        GET /studies/{id}/importance

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Importance,
            "GET",
            path_of("/studies/{id}/importance", id=id),
            query={"organisation": organisation, "project": project},
        )

    def pause(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Study:
        """No new trials; jobs of trials save and leave their GPUs until it is resumed.

        POST /studies/{id}/pause

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Study,
            "POST",
            path_of("/studies/{id}/pause", id=id),
            query={"organisation": organisation, "project": project},
        )

    def resume(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Study:
        """Goes on where it was paused.

        POST /studies/{id}/resume

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Study,
            "POST",
            path_of("/studies/{id}/resume", id=id),
            query={"organisation": organisation, "project": project},
        )

    def stop(self, id: Ref, /, *, organisation: str | None = None, project: str | None = None) -> r.Study:
        """Ends the study for good and cancels jobs of its trials; asked again it changes nothing.

        POST /studies/{id}/stop

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.record(
            r.Study,
            "POST",
            path_of("/studies/{id}/stop", id=id),
            query={"organisation": organisation, "project": project},
        )

    def list_trials(
        self, id: Ref, /, *, organisation: str | None = None, project: str | None = None
    ) -> ApiRows[r.Trial]:
        """All trials of the study, by number.

        GET /studies/{id}/trials

        organisation: Where the address has a name: of which organisation, by id or name.
        project: Where the address has a name: of which project, by id or name.
        """
        return self._transport.rows(
            r.Trial,
            "GET",
            path_of("/studies/{id}/trials", id=id),
            query={"organisation": organisation, "project": project},
        )


class TeamsOperations:
    """The operations under /teams."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        name: str | None = None,
        organisation: str | None = None,
        parent: str | None = None,
        ref: str | None = None,
        search: str | None = None,
        within: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.Team]:
        """Teams that the caller sees, those below other teams too.

        GET /teams

        name: Only the one of exactly this name.
        organisation: Only those of this organisation, by id or name.
        parent: Only those directly below this team.
        ref: Only what this means: those of exactly this name; where there are none, the one of this id, or those
        whose id begins or ends with it, with four characters at least.
        search: Only those whose name contains this, and all teams below them.
        within: Only this team and all teams below it.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.Team,
            path_of("/teams"),
            query={
                "name": name,
                "organisation": organisation,
                "parent": parent,
                "ref": ref,
                "search": search,
                "within": within,
            },
            size=page_size,
        )

    def create(self, *, name: str, organisation: str, parent: str | Unset | None = UNSET) -> r.Team:
        """A new team, directly below its organisation or below another team; for admins.

        POST /teams

        name: The name; at most 100 characters.
        organisation: The id of the organisation.
        parent: The id of the team that it is a part of; null: directly below the organisation.
        """
        return self._transport.record(
            r.Team, "POST", path_of("/teams"), body={"name": name, "organisation": organisation, "parent": parent}
        )

    def get(self, id: Ref, /, *, organisation: str | None = None) -> r.Team:
        """One team, with the team that it is in.

        GET /teams/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.record(
            r.Team, "GET", path_of("/teams/{id}", id=id), query={"organisation": organisation}
        )

    def update(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        name: str | Unset = UNSET,
        parent: str | Unset | None = UNSET,
        seen: b.TeamSeenRequest | Unset = UNSET,
    ) -> r.Team:
        """Another name, or a place below another team, with its projects and all teams below it; for admins.

        PATCH /teams/{id}

        organisation: Where the address has a name: of which organisation, by id or name.
        name: Another name; left out: the same.
        parent: The id of the team to move it below, with all below it; null: directly below the organisation; left
        out: where it is.
        seen: The values that the caller saw of what is changed; 409 with both versions when one of them is another
        now.
        """
        return self._transport.record(
            r.Team,
            "PATCH",
            path_of("/teams/{id}", id=id),
            query={"organisation": organisation},
            body={"name": name, "parent": parent, "seen": seen},
        )

    def delete(self, id: Ref, /) -> None:
        """For admins; 409 while it has projects or teams below it.

        DELETE /teams/{id}
        """
        self._transport.content("DELETE", path_of("/teams/{id}", id=id))

    def permissions(self, id: Ref, /, *, organisation: str | None = None, username: str | None = None) -> r.Permissions:
        """Where one's role comes from, what it allows, and who gives the role that other actions need.

        GET /teams/{id}/permissions

        organisation: Where the address has a name: of which organisation, by id or name.
        username: Of this member, for admins of the place; left out: of the caller.
        """
        return self._transport.record(
            r.Permissions,
            "GET",
            path_of("/teams/{id}/permissions", id=id),
            query={"organisation": organisation, "username": username},
        )

    def update_quota(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        max_gpus: int | Unset | None = UNSET,
        gpus_by_type: Mapping[str, int] | Unset = UNSET,
        guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        borrow_limit_by_type: Mapping[str, int] | Unset = UNSET,
        lend_limit_by_type: Mapping[str, int] | Unset = UNSET,
        max_cpus: int | Unset | None = UNSET,
        max_memory_bytes: int | Unset | None = UNSET,
        max_running_jobs: int | Unset | None = UNSET,
        guarantee: int | Unset | None = UNSET,
        borrow_limit: int | Unset | None = UNSET,
        lend_limit: int | Unset | None = UNSET,
        reclaim: v.ReclaimEnum | Unset = UNSET,
        weight: float | Unset = UNSET,
        shares_fairly: bool | Unset = UNSET,
        half_life_s: float | Unset = UNSET,
        budgets: Sequence[b.BudgetRequest] | Unset = UNSET,
        max_waiting_jobs: int | Unset | None = UNSET,
        max_storage_bytes: int | Unset | None = UNSET,
        max_priority: int | Unset | None = UNSET,
        version: int | Unset = UNSET,
    ) -> r.QuotaOwner:
        """For admins of the team or organisation above it, within its guarantee; counts from the next round on.

        Nothing is ended: what is used above a guarantee counts as borrowed from then on, as the answer shows.

        PATCH /teams/{id}/quota

        organisation: Where the address has a name: of which organisation, by id or name.
        max_gpus: The most GPUs that may be in use at a time; null: no limit.
        gpus_by_type: The most GPUs of single types that may be in use at a time, by type; a type that is not named:
        no limit.
        guarantee_by_type: GPUs of single types that are guaranteed, by type: a part of the guarantee, or all of it
        where that is null.
        borrow_limit_by_type: The most GPUs of single types that may be borrowed above what is guaranteed of the
        type, by type; a type that is not named: no limit.
        lend_limit_by_type: The most GPUs guaranteed of single types that others may borrow while they are unused,
        by type; a type that is not named: no limit.
        max_cpus: The most CPUs that pods may request at a time; null: no limit.
        max_memory_bytes: The most bytes of memory that pods may request at a time; null: no limit.
        max_running_jobs: The most jobs that may run at a time; null: no limit.
        guarantee: GPUs that are guaranteed; null: none.
        borrow_limit: The most GPUs that may be borrowed above the guarantee; null: no limit.
        lend_limit: The most guaranteed GPUs that others may borrow while they are unused; null: no limit.
        reclaim: From whom lent GPUs may be taken back by preemption.
        weight: The share of unguaranteed GPUs, relative to siblings.
        shares_fairly: Whether unguaranteed GPUs are shared by weight, whatever the policy.
        half_life_s: 0: past use is no matter.
        budgets: Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.
        max_waiting_jobs: The most jobs that may wait in the queue; null: no limit but the installation's.
        max_storage_bytes: The most bytes that may be stored, with all below it; each content counts once; null: no
        limit.
        max_priority: The highest priority that members may give their jobs; null: what holds above it, 50 if
        nothing does.
        version: The version that the caller saw; 409 when it is stale.
        """
        return self._transport.record(
            r.QuotaOwner,
            "PATCH",
            path_of("/teams/{id}/quota", id=id),
            query={"organisation": organisation},
            body={
                "max_gpus": max_gpus,
                "gpus_by_type": gpus_by_type,
                "guarantee_by_type": guarantee_by_type,
                "borrow_limit_by_type": borrow_limit_by_type,
                "lend_limit_by_type": lend_limit_by_type,
                "max_cpus": max_cpus,
                "max_memory_bytes": max_memory_bytes,
                "max_running_jobs": max_running_jobs,
                "guarantee": guarantee,
                "borrow_limit": borrow_limit,
                "lend_limit": lend_limit,
                "reclaim": reclaim,
                "weight": weight,
                "shares_fairly": shares_fairly,
                "half_life_s": half_life_s,
                "budgets": budgets,
                "max_waiting_jobs": max_waiting_jobs,
                "max_storage_bytes": max_storage_bytes,
                "max_priority": max_priority,
                "version": version,
            },
        )

    def list_quota_boosts(self, id: Ref, /, *, organisation: str | None = None) -> ApiRows[r.QuotaBoost]:
        """Boosts that are in effect, and those to come: is_in_effect says which. The one that begins first is at the
        top.

        GET /teams/{id}/quota/boosts

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.rows(
            r.QuotaBoost, "GET", path_of("/teams/{id}/quota/boosts", id=id), query={"organisation": organisation}
        )

    def create_quota_boost(
        self,
        id: Ref,
        /,
        *,
        ends_at: datetime | str,
        organisation: str | None = None,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        starts_at: datetime | str | Unset | None = UNSET,
        reason: str | Unset = UNSET,
    ) -> r.QuotaBoostMade:
        """Raises the quota until a time, from the next scheduling round on or from starts_at, by who may change it.

        It ends by itself: what is used above the guarantee then counts as borrowed, and jobs above max_gpus save a
        checkpoint and wait.

        POST /teams/{id}/quota/boosts

        organisation: Where the address has a name: of which organisation, by id or name.
        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        starts_at: When it begins, before ends_at and at most 366 days from now; null, or left out: now. Without an
        offset it is UTC.
        ends_at: When it ends by itself; at most 366 days from now. Without an offset it is UTC.
        reason: Why, for those who see the quota.
        """
        return self._transport.record(
            r.QuotaBoostMade,
            "POST",
            path_of("/teams/{id}/quota/boosts", id=id),
            query={"organisation": organisation},
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "reason": reason,
            },
        )

    def list_quota_burn_down(self, id: Ref, /, *, organisation: str | None = None) -> ApiRows[r.BurnDown]:
        """How each budget of GPU-hours is used in its present period, and when it would be used up.

        GET /teams/{id}/quota/burn-down

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.rows(
            r.BurnDown, "GET", path_of("/teams/{id}/quota/burn-down", id=id), query={"organisation": organisation}
        )

    def quota_requests(
        self,
        id: Ref,
        /,
        *,
        reason: str,
        organisation: str | None = None,
        extra_guarantee: int | Unset = UNSET,
        extra_max_gpus: int | Unset = UNSET,
        extra_gpus_by_type: Mapping[str, int] | Unset = UNSET,
        extra_guarantee_by_type: Mapping[str, int] | Unset = UNSET,
        starts_at: datetime | str | Unset | None = UNSET,
        ends_at: datetime | str | Unset | None = UNSET,
    ) -> r.RequestedQuota:
        """Asks for more, by who may submit; admins of the organisation (for its own quota: of the platform) decide.

        POST /teams/{id}/quota/requests

        organisation: Where the address has a name: of which organisation, by id or name.
        extra_guarantee: GPUs of any type to add to the guarantee.
        extra_max_gpus: GPUs to add to max_gpus, where that is set.
        extra_gpus_by_type: GPUs to add to the limits in gpus_by_type, by type; the types must be limited there.
        extra_guarantee_by_type: GPUs of single types to add to the guarantee, by type; besides extra_guarantee,
        whose GPUs are of any type.
        starts_at: From when on, before ends_at and at most 366 days from now; null: from the approval on.
        ends_at: Until when, at most 366 days from now; null: for good.
        reason: What they are for, to who decides.
        """
        return self._transport.record(
            r.RequestedQuota,
            "POST",
            path_of("/teams/{id}/quota/requests", id=id),
            query={"organisation": organisation},
            body={
                "extra_guarantee": extra_guarantee,
                "extra_max_gpus": extra_max_gpus,
                "extra_gpus_by_type": extra_gpus_by_type,
                "extra_guarantee_by_type": extra_guarantee_by_type,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "reason": reason,
            },
        )

    def restore_quota(
        self, id: Ref, /, *, version: int, organisation: str | None = None, seen: int | Unset = UNSET
    ) -> r.QuotaOwner:
        """Gives the quota the rules that it had at an older version, as a new version, by who may change it.

        POST /teams/{id}/quota/restore

        organisation: Where the address has a name: of which organisation, by id or name.
        version: The version whose rules are restored, as a new version.
        seen: The present version, as the caller saw it; 409 when it is stale.
        """
        return self._transport.record(
            r.QuotaOwner,
            "POST",
            path_of("/teams/{id}/quota/restore", id=id),
            query={"organisation": organisation},
            body={"version": version, "seen": seen},
        )

    def quota_users(self, id: Ref, /, *, organisation: str | None = None) -> r.UserQuotas:
        """What each user may have here, and has now: the limits of every user, and exceptions.

        GET /teams/{id}/quota/users

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.record(
            r.UserQuotas, "GET", path_of("/teams/{id}/quota/users", id=id), query={"organisation": organisation}
        )

    def update_quota_user(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        username: str | Unset | None = UNSET,
        max_gpus: int | Unset | None = UNSET,
        gpus_by_type: Mapping[str, int] | Unset = UNSET,
        max_cpus: int | Unset | None = UNSET,
        max_memory_bytes: int | Unset | None = UNSET,
        max_running_jobs: int | Unset | None = UNSET,
        max_waiting_jobs: int | Unset | None = UNSET,
        max_storage_bytes: int | Unset | None = UNSET,
        budgets: Sequence[b.BudgetRequest] | Unset = UNSET,
        version: int | Unset = UNSET,
    ) -> r.UserQuota:
        """Changes what a user may have here, by its admins; counts from the next round on.

        A person's first own limits begin as those of every user. No job is ended: jobs above a limit save a
        checkpoint
        and wait.

        PATCH /teams/{id}/quota/users

        organisation: Where the address has a name: of which organisation, by id or name.
        username: Whose limits; null: those of every user who has none of their own.
        max_gpus: The most GPUs that the user's jobs may hold at a time; null: no limit.
        gpus_by_type: The most GPUs of a type that the user's jobs may hold at a time, by type; a type without a
        number: no limit.
        max_cpus: The most CPUs that pods of the user's jobs may request at a time; null: no limit.
        max_memory_bytes: The most bytes of memory that pods of the user's jobs may request at a time; null: no
        limit.
        max_running_jobs: The most jobs that the user may run at a time; null: no limit.
        max_waiting_jobs: The most jobs that the user may have waiting; null: no limit but the installation's.
        max_storage_bytes: The most bytes that the user may store, of an organisation only; null: no limit.
        budgets: Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.
        version: The version that the caller saw, 0: there were none; 409 when it is stale.
        """
        return self._transport.record(
            r.UserQuota,
            "PATCH",
            path_of("/teams/{id}/quota/users", id=id),
            query={"organisation": organisation},
            body={
                "username": username,
                "max_gpus": max_gpus,
                "gpus_by_type": gpus_by_type,
                "max_cpus": max_cpus,
                "max_memory_bytes": max_memory_bytes,
                "max_running_jobs": max_running_jobs,
                "max_waiting_jobs": max_waiting_jobs,
                "max_storage_bytes": max_storage_bytes,
                "budgets": budgets,
                "version": version,
            },
        )

    def list_quota_versions(self, id: Ref, /, *, organisation: str | None = None) -> ApiRows[r.QuotaVersion]:
        """Who changed the quota, when, and what; the newest 100 changes, newest first.

        GET /teams/{id}/quota/versions

        organisation: Where the address has a name: of which organisation, by id or name.
        """
        return self._transport.rows(
            r.QuotaVersion, "GET", path_of("/teams/{id}/quota/versions", id=id), query={"organisation": organisation}
        )

    def list_roles(
        self,
        id: Ref,
        /,
        *,
        organisation: str | None = None,
        role: Sequence[Literal["admin", "auditor", "member", "outsider", "owner", "submitter", "viewer"]] | None = None,
        search: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.PersonRoles]:
        """Who has a role in the team, and from where: the organisation, a team above it, or given here. Who has a role
        here
        alone is not shown the organisation's other people.

        GET /teams/{id}/roles

        organisation: Where the address has a name: of which organisation, by id or name.
        role: Only those who have one of these roles, given here or in what is above.
        search: Only those whose user name or full name contains this; asked by an admin of the organisation, or
        whose e-mail address does.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.PersonRoles,
            path_of("/teams/{id}/roles", id=id),
            query={"organisation": organisation, "role": role, "search": search},
            size=page_size,
        )

    def create_role(
        self, id: Ref, /, *, username: str, role: v.BoundRole, organisation: str | None = None
    ) -> r.RoleBinding:
        """Gives a member of the organisation a role here, besides that in the organisation; for admins of the place.

        POST /teams/{id}/roles

        organisation: Where the address has a name: of which organisation, by id or name.
        username: The user name of a member of the organisation.
        role: The role to give.
        """
        return self._transport.record(
            r.RoleBinding,
            "POST",
            path_of("/teams/{id}/roles", id=id),
            query={"organisation": organisation},
            body={"username": username, "role": role},
        )


class TokensOperations:
    """The operations under /tokens."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int = PAGE_SIZE) -> Pages[r.Token]:
        """The caller's API tokens that are not revoked, without their secrets.

        GET /tokens

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Token, path_of("/tokens"), size=page_size)

    def create(
        self,
        *,
        name: str,
        scopes: Sequence[v.ScopesEnum],
        organisation: str | Unset | None = UNSET,
        project: str | Unset | None = UNSET,
        expires_in_days: int | Unset | None = UNSET,
    ) -> r.TokenCreated:
        """A new token, whose secret is in this answer only. By session: a token cannot make tokens that outlive it.

        POST /tokens

        name: The name; at most 100 characters.
        scopes: What it may do: read; submit (upload, run jobs); write (also manage projects and people); admin.
        organisation: The id of the only organisation to reach; null: all.
        project: The id of the only project to reach; null: all.
        expires_in_days: null: until revoked.
        """
        return self._transport.record(
            r.TokenCreated,
            "POST",
            path_of("/tokens"),
            body={
                "name": name,
                "scopes": scopes,
                "organisation": organisation,
                "project": project,
                "expires_in_days": expires_in_days,
            },
        )

    def delete(self, id: Ref, /) -> None:
        """Revokes the token at once.

        DELETE /tokens/{id}
        """
        self._transport.content("DELETE", path_of("/tokens/{id}", id=id))


class UploadsOperations:
    """The operations under /uploads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int = PAGE_SIZE) -> Pages[r.ResumableUpload]:
        """Lists your uploads that are under way or not used yet.

        GET /uploads

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.ResumableUpload, path_of("/uploads"), size=page_size)

    def get(self, id: Ref, /) -> r.ResumableUpload:
        """One resumable upload, and how much of it has arrived (tus 1.0.0).

        GET /uploads/{id}
        """
        return self._transport.record(r.ResumableUpload, "GET", path_of("/uploads/{id}", id=id))

    def delete(self, id: Ref, /) -> None:
        """Removes the upload and what has arrived of it; its reserved storage is free again.

        DELETE /uploads/{id}
        """
        self._transport.content("DELETE", path_of("/uploads/{id}", id=id))


class UsageOperations:
    """The operations under /usage."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(
        self,
        *,
        by: Literal["organisation", "team", "project", "user", "gpu_type", "job", "outcome", "day"] | None = None,
        organisation: str | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        team: str | None = None,
        until: datetime | str | None = None,
    ) -> r.UsageReport:
        """GPU-hours held by attempts, running ones included, and what became of them.

        Of the caller's organisations; for an outsider of one, of the projects in which a role is held there.

        GET /usage

        by: What GPU-hours are grouped by; days are those of UTC.
        organisation: Only the use of this organisation, by id or name.
        project: Only the use of this project, by id or name.
        since: The beginning of the time reported; 30 days before its end, if left out.
        team: Only the use of this team and of those that were below it at that time.
        until: The end of the time reported; now, if left out.
        """
        return self._transport.record(
            r.UsageReport,
            "GET",
            path_of("/usage"),
            query={
                "by": by,
                "organisation": organisation,
                "project": project,
                "since": since,
                "team": team,
                "until": until,
            },
        )

    def download_export(
        self,
        *,
        to: str | PathLike[str],
        by: Literal["organisation", "team", "project", "user", "gpu_type", "job", "outcome", "day"] | None = None,
        organisation: str | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        team: str | None = None,
        until: datetime | str | None = None,
    ) -> Path:
        """The same as a CSV file.

        GET /usage/export

        by: What GPU-hours are grouped by; days are those of UTC.
        organisation: Only the use of this organisation, by id or name.
        project: Only the use of this project, by id or name.
        since: The beginning of the time reported; 30 days before its end, if left out.
        team: Only the use of this team and of those that were below it at that time.
        until: The end of the time reported; now, if left out.
        to: the file to write, which is there when all of it has arrived.
        """
        return self._transport.download(
            path_of("/usage/export"),
            query={
                "by": by,
                "organisation": organisation,
                "project": project,
                "since": since,
                "team": team,
                "until": until,
            },
            to=to,
        )


class UserQuotasOperations:
    """The operations under /user-quotas."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def delete(self, id: Ref, /, *, version: int | None = None) -> None:
        """Removes limits: a person's own, after which those of every user hold; or those of every user.

        DELETE /user-quotas/{id}

        version: The version that the caller saw; 409 when stale.
        """
        self._transport.content("DELETE", path_of("/user-quotas/{id}", id=id), query={"version": version})

    def list_mine(self) -> ApiRows[r.UserQuota]:
        """What the caller may have of each organisation, team and project that limits users, and has now.

        GET /user-quotas/mine
        """
        return self._transport.rows(r.UserQuota, "GET", path_of("/user-quotas/mine"))


class UsersOperations:
    """The operations under /users."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        is_active: bool | None = None,
        search: str | None = None,
        username: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Pages[r.User]:
        """All accounts of the platform.

        GET /users

        is_active: Only those that are active, or that are not.
        search: Only those whose user name, full name or e-mail address contains this.
        username: Only those whose name contains this.
        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(
            self._transport,
            r.User,
            path_of("/users"),
            query={"is_active": is_active, "search": search, "username": username},
            size=page_size,
        )

    def create(
        self,
        *,
        username: str,
        email: str | Unset = UNSET,
        is_staff: bool | Unset = UNSET,
        organisation: str | Unset | None = UNSET,
        role: v.Role | Unset = UNSET,
    ) -> r.UserCreated:
        """A new account. Its user sets the password at the link, which is in this answer only.

        POST /users

        username: The name to sign in with.
        email: The e-mail address, if any.
        is_staff: Whether it becomes an administrator of the platform.
        organisation: The id of an organisation to belong to; null: none.
        role: The role in that organisation.
        """
        return self._transport.record(
            r.UserCreated,
            "POST",
            path_of("/users"),
            body={
                "username": username,
                "email": email,
                "is_staff": is_staff,
                "organisation": organisation,
                "role": role,
            },
        )

    def get(self, id: Ref, /) -> r.User:
        """One account; for administrators of the platform.

        GET /users/{id}
        """
        return self._transport.record(r.User, "GET", path_of("/users/{id}", id=id))

    def update(
        self, id: Ref, /, *, email: str | Unset = UNSET, is_active: bool | Unset = UNSET, is_staff: bool | Unset = UNSET
    ) -> r.User:
        """Deactivates or reactivates, makes an administrator or unmakes one; 409 for the last administrator.

        PATCH /users/{id}

        email: Another address; left out: the same.
        is_active: Whether it may sign in and use its tokens; left out: as it is.
        is_staff: Whether it is an administrator of the platform; left out: as it is.
        """
        return self._transport.record(
            r.User,
            "PATCH",
            path_of("/users/{id}", id=id),
            body={"email": email, "is_active": is_active, "is_staff": is_staff},
        )

    def delete(self, id: Ref, /, *, reassign_to: str | None = None) -> None:
        """For good. 409 with the numbers of what it made, unless `reassign_to` names who becomes their maker.

        DELETE /users/{id}

        reassign_to: The id of the user who becomes the maker of what remains.
        """
        self._transport.content("DELETE", path_of("/users/{id}", id=id), query={"reassign_to": reassign_to})

    def deletion(self, id: Ref, /) -> r.UserDeletion:
        """What a deletion would leave to another user, and what keeps the account from being deleted.

        GET /users/{id}/deletion
        """
        return self._transport.record(r.UserDeletion, "GET", path_of("/users/{id}/deletion", id=id))

    def impersonation(self, id: Ref, /) -> r.Impersonation:
        """The session sees MLHub as this user, for MLHUB_IMPERSONATION_MINUTES at most, and changes nothing meanwhile.
        Begin and end are audited. Not as an administrator, and not with a token.

        POST /users/{id}/impersonation
        """
        return self._transport.record(r.Impersonation, "POST", path_of("/users/{id}/impersonation", id=id))

    def password_link(self, id: Ref, /) -> r.PasswordLink:
        """A link at which the user sets a new password. It works once, until the user signs in, for three days.

        POST /users/{id}/password-link
        """
        return self._transport.record(r.PasswordLink, "POST", path_of("/users/{id}/password-link", id=id))

    def delete_second_factor(self, id: Ref, /) -> None:
        """Removes a user's second factor, passkeys too, for who lost them and the recovery codes. It is audited.

        DELETE /users/{id}/second-factor
        """
        self._transport.content("DELETE", path_of("/users/{id}/second-factor", id=id))

    def end_sessions(self, id: Ref, /) -> r.EndedSessions:
        """Signs the user out of all browsers; tokens stay.

        DELETE /users/{id}/sessions
        """
        return self._transport.record(r.EndedSessions, "DELETE", path_of("/users/{id}/sessions", id=id))


class WebhooksOperations:
    """The operations under /webhooks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, id: Ref, /) -> r.Webhook:
        """One webhook, without its secret; for admins of its organisation.

        GET /webhooks/{id}
        """
        return self._transport.record(r.Webhook, "GET", path_of("/webhooks/{id}", id=id))

    def update(
        self,
        id: Ref,
        /,
        *,
        url: str | Unset = UNSET,
        topics: Sequence[v.WebhookTopic] | Unset = UNSET,
        is_active: bool | Unset = UNSET,
        seen: b.WebhookSeenRequest | Unset = UNSET,
    ) -> r.Webhook:
        """Changes what is given.

        PATCH /webhooks/{id}

        url: A new address.
        topics: What it is notified of, all of it.
        is_active: false turns it off; true turns it on, for what happens from then on.
        seen: The values that the caller saw of what is changed; 409 with both versions when one of them is another
        now.
        """
        return self._transport.record(
            r.Webhook,
            "PATCH",
            path_of("/webhooks/{id}", id=id),
            body={"url": url, "topics": topics, "is_active": is_active, "seen": seen},
        )

    def delete(self, id: Ref, /) -> None:
        """Deletes it, and what it was not yet notified of.

        DELETE /webhooks/{id}
        """
        self._transport.content("DELETE", path_of("/webhooks/{id}", id=id))

    def list_deliveries(self, id: Ref, /, *, page_size: int = PAGE_SIZE) -> Pages[r.Delivery]:
        """The webhook's deliveries, newest first. Those that ended are kept for MLHUB_KEEP_DELIVERIES_DAYS.

        GET /webhooks/{id}/deliveries

        page_size: rows of one request; pages are fetched when they are needed.
        """
        return Pages(self._transport, r.Delivery, path_of("/webhooks/{id}/deliveries", id=id), size=page_size)

    def test(self, id: Ref, /) -> r.Delivery:
        """Sends a test, within seconds; what came of it is among the deliveries.

        POST /webhooks/{id}/test
        """
        return self._transport.record(r.Delivery, "POST", path_of("/webhooks/{id}/test", id=id))


class WhatIfOperations:
    """The operations under /what-if."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ask(
        self,
        *,
        submit: b.JobSubmitRequest | Unset = UNSET,
        cancel: Sequence[str] | Unset = UNSET,
        jobs: Sequence[b.WhatIfJobRequest] | Unset = UNSET,
        quotas: Sequence[b.WhatIfQuotaRequest] | Unset = UNSET,
        user_quotas: Sequence[b.WhatIfUserQuotaRequest] | Unset = UNSET,
        add_nodes: b.NewNodesRequest | Unset = UNSET,
        remove_nodes: Sequence[str] | Unset = UNSET,
        policy: b.WhatIfPolicyRequest | Unset = UNSET,
    ) -> r.WhatIfAnswer:
        """When jobs would start and end if something were different: the live policy decides on both. 422 as for the
        real thing.

        POST /what-if

        submit: A job that would be submitted.
        cancel: Ids of jobs that would be cancelled.
        jobs: Jobs that would be different.
        quotas: Quotas that would be different.
        user_quotas: Limits of users that would be different; for admins of what they are of.
        add_nodes: Nodes that would be added.
        remove_nodes: Names of nodes that would be removed.
        policy: The policy that would decide.
        """
        return self._transport.record(
            r.WhatIfAnswer,
            "POST",
            path_of("/what-if"),
            body={
                "submit": submit,
                "cancel": cancel,
                "jobs": jobs,
                "quotas": quotas,
                "user_quotas": user_quotas,
                "add_nodes": add_nodes,
                "remove_nodes": remove_nodes,
                "policy": policy,
            },
        )


class Operations:
    """Every resource of the API."""

    def __init__(self, transport: Transport) -> None:
        self.agents = AgentsOperations(transport)
        self.announcements = AnnouncementsOperations(transport)
        self.auth = AuthOperations(transport)
        self.cluster = ClusterOperations(transport)
        self.dataset_versions = DatasetVersionsOperations(transport)
        self.datasets = DatasetsOperations(transport)
        self.deliveries = DeliveriesOperations(transport)
        self.environments = EnvironmentsOperations(transport)
        self.events = EventsOperations(transport)
        self.ingest = IngestOperations(transport)
        self.invitations = InvitationsOperations(transport)
        self.job_tags = JobTagsOperations(transport)
        self.jobs = JobsOperations(transport)
        self.memberships = MembershipsOperations(transport)
        self.model_versions = ModelVersionsOperations(transport)
        self.models = ModelsOperations(transport)
        self.organisation_deletions = OrganisationDeletionsOperations(transport)
        self.organisations = OrganisationsOperations(transport)
        self.platform = PlatformOperations(transport)
        self.project_deletions = ProjectDeletionsOperations(transport)
        self.projects = ProjectsOperations(transport)
        self.queue = QueueOperations(transport)
        self.quota_boosts = QuotaBoostsOperations(transport)
        self.quota_requests = QuotaRequestsOperations(transport)
        self.role_bindings = RoleBindingsOperations(transport)
        self.rounds = RoundsOperations(transport)
        self.runs = RunsOperations(transport)
        self.scheduler = SchedulerOperations(transport)
        self.service_accounts = ServiceAccountsOperations(transport)
        self.strategies = StrategiesOperations(transport)
        self.stream = StreamOperations(transport)
        self.studies = StudiesOperations(transport)
        self.teams = TeamsOperations(transport)
        self.tokens = TokensOperations(transport)
        self.uploads = UploadsOperations(transport)
        self.usage = UsageOperations(transport)
        self.user_quotas = UserQuotasOperations(transport)
        self.users = UsersOperations(transport)
        self.webhooks = WebhooksOperations(transport)
        self.what_if = WhatIfOperations(transport)
