// SPDX-License-Identifier: Apache-2.0
// What forms let one choose from: lists that the API searches, so that they may be of any length.
import { type QueryClient, queryOptions, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Dataset, Job, Membership, Model, Organisation, Page, Project, Role, Run, Secret, User } from "@/api/types";

/** The rows that are offered before anything is typed, and of each search. */
const OFFERED = 50;

export interface ChoiceSource<T> {
  /** Of its queries. */
  key: readonly string[];
  read: (query: { search?: string; limit: number }) => Promise<Page<T>>;
  /** Of what is chosen; what the API searches by is not always its name here. */
  idOf: (item: T) => string;
  /** The API finds more by a text than the items' texts show, such as e-mail addresses: it is asked for short lists as well. */
  findsMore?: boolean;
  /** One that is chosen and not among those that were offered; left out where its id says it all. */
  readOne?: (id: string) => Promise<T>;
}

export const datasetChoices: ChoiceSource<Dataset> = {
  key: ["datasets", "choices"],
  read: (query) => unwrap(api.GET("/api/v1/datasets", { params: { query } })),
  idOf: ({ id }) => id,
  readOne: (id) => unwrap(api.GET("/api/v1/datasets/{id}", { params: { path: { id } } })),
};

/** Those whose code can be trained. */
export const modelChoices: ChoiceSource<Model> = {
  key: ["models", "choices"],
  read: (query) => unwrap(api.GET("/api/v1/models", { params: { query: { ready: true, ...query } } })),
  idOf: ({ id }) => id,
  readOne: (id) => unwrap(api.GET("/api/v1/models/{id}", { params: { path: { id } } })),
};

/** Accounts of the platform that are active, for its administrators. */
export const userChoices: ChoiceSource<User> = {
  key: ["users", "choices"],
  read: (query) => unwrap(api.GET("/api/v1/users", { params: { query: { is_active: true, ...query } } })),
  idOf: ({ id }) => id,
  findsMore: true,
};

/** Those that the caller sees; roles: those alone in which they have one of these. */
export function organisationChoices(roles?: readonly Role[]): ChoiceSource<Organisation> {
  return {
    key: ["organisations", "choices", ...(roles ?? ["all"])],
    read: (query) => unwrap(api.GET("/api/v1/organisations", { params: { query: { ...(roles && { role: [...roles] }), ...query } } })),
    idOf: ({ id }) => id,
    readOne: readOrganisation,
  };
}

function readOrganisation(id: string): Promise<Organisation> {
  return unwrap(api.GET("/api/v1/organisations/{id}", { params: { path: { id } } }));
}

export const organisationQuery = (id: string) => queryOptions({ queryKey: ["organisations", "one", id], queryFn: () => readOrganisation(id) });

/** What the caller may do in a project that is open. */
export type ProjectUse = "upload" | "submit";

/** may: of those alone that one may use so; left out: of all that one sees. */
export function projectChoices(may?: ProjectUse): ChoiceSource<Project> {
  return {
    key: ["projects", "choices", may ?? "all"],
    read: (query) => unwrap(api.GET("/api/v1/projects", { params: { query: { ...(may && { may }), ...query } } })),
    idOf: ({ id }) => id,
    readOne: (id) => unwrap(api.GET("/api/v1/projects/{id}", { params: { path: { id } } })),
  };
}

/** What a token may be limited to in an organisation. */
export function projectsOfChoices(organisationId: string): ChoiceSource<Project> {
  return {
    ...projectChoices(),
    key: ["projects", "choices", "of", organisationId],
    read: (query) => unwrap(api.GET("/api/v1/projects", { params: { query: { organisation: organisationId, ...query } } })),
  };
}

export function memberChoices(organisationId: string): ChoiceSource<Membership> {
  return {
    key: ["members", organisationId, "choices"],
    read: (query) => unwrap(api.GET("/api/v1/organisations/{id}/members", { params: { path: { id: organisationId }, query } })),
    idOf: ({ user }) => user.id,
    findsMore: true,
  };
}

/** The people and the service accounts of an organisation, by user name. */
export function accountChoices(organisationId: string): ChoiceSource<{ username: string }> {
  const path = { id: organisationId };
  return {
    key: ["members", organisationId, "accounts", "choices"],
    read: async (query) => {
      const [people, services] = await Promise.all([
        unwrap(api.GET("/api/v1/organisations/{id}/members", { params: { path, query } })),
        unwrap(api.GET("/api/v1/organisations/{id}/service-accounts", { params: { path, query } })),
      ]);
      return {
        previous: null,
        next: people.next ?? services.next,
        results: [...people.results.map(({ user }) => user), ...services.results],
      };
    },
    idOf: ({ username }) => username,
    findsMore: true,
  };
}

/** An account that did something, by user name: one that is no longer there can still be chosen, its name says it all. */
export interface NamedAccount {
  username: string;
}

/** Whose jobs or events one may look for: of some organisations, or of the whole platform; where none shows its members, oneself. */
export function personChoices(organisationIds: readonly string[] | "platform", self: string): ChoiceSource<NamedAccount> {
  const read: ChoiceSource<NamedAccount>["read"] =
    organisationIds === "platform"
      ? (query) => unwrap(api.GET("/api/v1/users", { params: { query } }))
      : (query) => accountsOf(organisationIds, query, self);
  return {
    key: ["people", ...(organisationIds === "platform" ? ["platform"] : organisationIds), "choices"],
    read,
    idOf: ({ username }) => username,
    findsMore: true,
    readOne: (username) => Promise.resolve({ username }),
  };
}

/** The accounts of several organisations, each once; of those alone that show their members to the caller. */
async function accountsOf(organisationIds: readonly string[], query: { search?: string; limit: number }, self: string): Promise<Page<NamedAccount>> {
  const answers = await Promise.allSettled(organisationIds.map((id) => accountChoices(id).read(query)));
  const pages = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const names = pages.length === 0 ? [self] : [...new Set(pages.flatMap(({ results }) => results.map(({ username }) => username)))];
  return {
    previous: null,
    next: pages.find(({ next }) => next !== null)?.next ?? null,
    results: names.toSorted((one, other) => one.localeCompare(other)).map((username) => ({ username })),
  };
}

export function secretChoices(projectId: string): ChoiceSource<Secret> {
  return {
    key: ["secrets", projectId, "choices"],
    read: (query) => unwrap(api.GET("/api/v1/projects/{id}/secrets", { params: { path: { id: projectId }, query } })),
    idOf: ({ name }) => name,
  };
}

/** What clients of MLflow logged elsewhere, by its name or its project's. */
export const runChoices: ChoiceSource<Run> = {
  key: ["runs", "choices"],
  read: (query) => unwrap(api.GET("/api/v1/runs", { params: { query } })),
  idOf: ({ id }) => id,
};

/** Jobs that wait or hold GPUs. */
export const liveJobChoices: ChoiceSource<Job> = {
  key: ["jobs", "live"],
  read: (query) => unwrap(api.GET("/api/v1/jobs", { params: { query: { ...query, state: ["queued", "starting", "running"] } } })),
  idOf: ({ id }) => id,
};

export function choicesQuery<T>({ key, read }: ChoiceSource<T>, search = "") {
  return queryOptions({
    queryKey: [...key, search],
    queryFn: () => read({ limit: OFFERED, ...(search && { search }) }),
  });
}

/** The item with this id, once it is known: of the lists that were offered, or read by itself. current: what the page knows of it. */
export function useChosen<T>(source: ChoiceSource<T>, id: string, current?: T): T | undefined {
  return useRead(source, id, current).item;
}

/** isGone: there is none with this id, or one may not see it. */
function useRead<T>(source: ChoiceSource<T>, id: string, current?: T): { item: T | undefined; isGone: boolean } {
  const queries = useQueryClient();
  const first = useQuery(choicesQuery(source));
  const isKnown = current !== undefined && source.idOf(current) === id;
  const offered = isKnown ? current : offeredIn(queries, source).find((item) => source.idOf(item) === id);
  const { readOne } = source;
  const { data, isError } = useQuery({
    queryKey: [...source.key, "one", id],
    queryFn: () => (readOne === undefined ? Promise.reject(new Error(`${id} is not offered`)) : readOne(id)),
    enabled: id !== "" && offered === undefined && first.data !== undefined && readOne !== undefined,
  });
  const item = offered ?? (data !== undefined && source.idOf(data) === id ? data : undefined);
  return { item, isGone: item === undefined && isError };
}

function offeredIn<T>(queries: QueryClient, { key }: ChoiceSource<T>): T[] {
  const lists = queries.getQueriesData<Partial<Page<T>>>({ queryKey: key });
  return lists.flatMap(([, page]) => page?.results ?? []);
}

interface ChosenOrFirst<T> {
  chosen: T | undefined;
  /** Those that are offered first; undefined until they have come. */
  items: readonly T[] | undefined;
  /** What went wrong, and whether they are still to come: for <QueryResult>. */
  list: UseQueryResult<Page<T>>;
}

/** The item that the address names, if there is one; else the first. */
export function useChosenOrFirst<T>(source: ChoiceSource<T>, id: string): ChosenOrFirst<T> {
  const list = useQuery(choicesQuery(source));
  const items = list.data?.results;
  const { item, isGone } = useRead(source, id);
  return { chosen: id === "" || isGone ? items?.[0] : item, items, list };
}
