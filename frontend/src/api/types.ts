// SPDX-License-Identifier: Apache-2.0
// Short names for the schema's types.
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type Attempt = Schemas["Attempt"];
export type Cluster = Schemas["Cluster"];
export type Dataset = Schemas["Dataset"];
export type DatasetDocuments = Schemas["DocumentsEnum"];
export type DatasetFormat = Schemas["FormatEnum"];
export type Decision = Schemas["Decision"];
export type DecisionKind = Schemas["DecisionKind"];
export type Deletion = Schemas["Deletion"];
export type DatasetVersion = Schemas["DatasetVersion"];
export type Effect = Schemas["Effect"];
export type Event = Schemas["Event"];
export type Explanation = Schemas["Explanation"];
export type Failure = Schemas["Failure"];
export type FailureCause = Schemas["FailureCause"];
export type Costs = Schemas["Costs"];
export type Insight = Schemas["Insight"];
export type InputError = NonNullable<Schemas["DatasetVersion"]["error"]>;
export type Job = Schemas["Job"];
export type JobDetail = Schemas["JobDetail"];
export type JobState = Schemas["JobState"];
export type JobSubmit = Schemas["JobSubmitRequest"];
export type Log = Schemas["Log"];
export type LogLine = Schemas["LogLine"];
export type Me = Schemas["Me"];
export type Membership = Schemas["Membership"];
export type Metrics = Schemas["Metrics"];
export type Mode = Schemas["ModeEnum"];
export type Model = Schemas["Model"];
export type ModelVersion = Schemas["ModelVersion"];
export type Node = Schemas["Node"];
export type Startup = Schemas["Startup"];
export type Organisation = Schemas["Organisation"];
export type OrganisationBrief = Schemas["OrganisationBrief"];
export type Point = Schemas["Point"];
export type Project = Schemas["Project"];
export type Quota = Schemas["Quota"];
export type QuotaOwner = Schemas["QuotaOwner"];
export type QuotaTree = Schemas["QuotaTree"];
export type QuotaRules = Partial<Omit<Schemas["PatchedQuotaRulesChangeRequest"], "version">>;
export type QuotaPatch = Schemas["PatchedQuotaChangeRequest"];
export type QueuedJob = Schemas["QueuedJob"];
export type Rack = Schemas["Rack"];
export type Role = Schemas["Role"];
export type Round = Schemas["Round"];
export type SchedulerChange = Schemas["PatchedSchedulerChangeRequest"];
export type SchedulerSettings = Schemas["SchedulerSettings"];
export type SchedulerStatus = Schemas["SchedulerStatus"];
export type Scope = Schemas["ScopesEnum"];
export type Series = Schemas["Series"];
export type Speed = Schemas["Speed"];
export type Speeds = Schemas["Speeds"];
export type StrategyName = Schemas["StrategyName"];
export type SlotJob = Schemas["SlotJob"];
export type Team = Schemas["Team"];
export type Tokenizer = Schemas["TokenizerEnum"];
export type Token = Schemas["Token"];
export type Invitation = Schemas["Invitation"];
export type MyInvitation = Schemas["MyInvitation"];
export type TokenCreated = Schemas["TokenCreated"];
export type Session = Schemas["Session"];
export type User = Schemas["User"];
export type VersionState = Schemas["VersionState"];
export type JobPreview = Schemas["JobPreview"];
export type WhatIf = Schemas["WhatIfRequest"];
export type WhatIfAnswer = Schemas["WhatIfAnswer"];
export type Why = Schemas["Why"];

/** One page of a list; next and previous are addresses that carry the cursor. */
export interface Page<T> {
  next?: string | null;
  previous?: string | null;
  results: T[];
}
