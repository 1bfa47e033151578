# SPDX-License-Identifier: Apache-2.0
"""What MLHub guarantees, and which test shows it: component x fault x phase -> outcome. The guide is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GUARANTEES: Mapping[str, str] = {
    "G1": "A job that was acknowledged with 2xx is never lost.",
    "G2": "Each change of a job's state happens once, in order, with an event.",
    "G3": "A control component that restarts takes running pods over; training does not notice.",
    "G4": "At most one attempt is effective: what a fenced one sends is refused.",
    "G5": "No metric point is lost or doubled after its 2xx; pods keep points while the platform is away.",
    "G6": "Each acknowledged log line is shown once, in the order of its pod.",
    "G7": "A lost pod or node costs at most the steps since the last checkpoint; the loss is reported.",
    "G8": "A checkpoint, a blob and a backup are whole or not there.",
    "G9": "A preempted gang may save until its grace ends, is forced then, and resumes by itself.",
    "G10": "Preemptions use up no retries.",
    "G11": "Preemption has no cycles, and every job that fits is started.",
    "G12": "No GPU is held twice, none stays held, and no quota is passed.",
    "G13": "A cancellation is final; GPUs are offered again only when the gang is known to be gone.",
    "G14": "Nothing of one organisation is visible to another.",
    "G15": "Jobs survive an upgrade.",
    "G16": "Without Redis, with a full disk, a slow, read-only or restarted database or wrong clocks, training goes on.",
    "G17": "Overload is refused with 429 and a time to come back.",
    "G18": "Each guarantee has its test in this page, and the day of its last pass.",
    "G19": "An older database that is restored over newer work deletes nothing, and gives no number out again.",
}
# Of these, nothing or not all is shown by a test; the guide says so.
UNPROVEN: Mapping[str, str] = {
    "G11": "Shown for what is submitted within a time: while shorter jobs never cease to come, no bound holds under every policy.",
    "G17": "That others wait at most three times as long is measured, not tested: benchmarks/results/overload.md.",
}


@dataclass(frozen=True)
class Case:
    """test: the node id of pytest, without parameters; parameters: as pytest names them, "" = all."""

    guarantee: str
    component: str
    fault: str
    phase: str
    outcome: str
    test: str
    parameters: str = ""

    @property
    def node_id(self) -> str:
        return f"{self.test}[{self.parameters}]" if self.parameters else self.test


def _cases(*rows: tuple[str, ...]) -> tuple[Case, ...]:
    return tuple(Case(*row) for row in rows)


_COMMITS, _PODS, _JOBS = "tests/chaos/test_commits.py", "tests/chaos/test_pods.py", "tests/chaos/test_jobs.py"
_STORES, _CHECKPOINTS = "tests/chaos/test_stores.py", "tests/chaos/test_checkpoints.py"
_PLATFORM, _GOES_ON = "tests/chaos/test_platform.py", "test_training_goes_on_with_every_point_and_the_same_pods_after"
_SANDBOX, _AROUND = "tests/chaos/test_sandbox_processes.py", "tests/backends/test_sandbox_processes.py"
_BACKUPS, _BACKUP_KILLS = "tests/recovery/test_backups.py", "tests/recovery/test_kills.py"
_LOOP, _INGEST, _LAUNCHER = (
    "tests/control/rounds/test_loop.py",
    "tests/metrics/test_ingest.py",
    "tests/runtime/launcher/test_launcher.py",
)
_LOCAL, _KUBERNETES = "tests/backends/test_local.py", "tests/backends/kubernetes/test_faults.py"
_UPGRADES, _LIMITS = "tests/chaos/test_upgrades.py", "tests/core/test_rate_limits.py"
_MATRIX, _RETENTION = "tests/chaos/test_matrix.py", "tests/retention/test_rules.py"

IN_PROCESS = _cases(
    ("G1", "web", "SIGKILL", "at every commit of a submission", "a repeated request gives one job", f"{_COMMITS}::test_a_submission_that_was_killed_anywhere_is_repeated_and_makes_one_job"),
    ("G2", "control", "SIGKILL", "at every commit of a round", "the next round goes on; one gang", f"{_COMMITS}::test_a_round_that_was_killed_anywhere_is_made_up_for_by_the_next_ones"),
    ("G2", "control", "SIGKILL", "at every commit of an attempt's end", "one end, one model", f"{_COMMITS}::test_an_attempt_whose_closing_was_killed_anywhere_is_closed_once_with_one_model"),
    ("G5", "web", "SIGKILL", "at every commit of a report", "every point and line once", f"{_COMMITS}::test_a_report_that_was_killed_anywhere_is_sent_again_and_every_point_is_there_once"),
    ("G5", "web", "SIGKILL", "at every commit of many progress reports", "every step counts once", f"{_COMMITS}::test_many_progress_reports_of_one_batch_that_was_killed_anywhere_count_once"),
    ("G8", "web", "SIGKILL", "at every commit of an upload", "whole or not there", f"{_COMMITS}::test_an_upload_that_was_killed_anywhere_is_there_whole_or_not_and_what_is_left_is_collected"),
    ("G8", "store", "disk full", "at the first, second, middle and last byte", "503, nothing left, repeatable", f"{_STORES}::test_an_upload_onto_a_disk_that_fills_at_any_byte_leaves_nothing_and_succeeds_later"),
    ("G8", "web", "SIGKILL", "after every request to the bucket and at every commit of a version", "whole, or the upload is there", "tests/chaos/test_bucket_kills.py::test_a_version_of_an_upload_that_was_killed_anywhere_is_whole_or_not_there_and_nothing_is_left"),
    ("G8", "web", "SIGKILL", "the same of an upload in one request", "whole or not there; nothing left", "tests/chaos/test_bucket_kills.py::test_an_upload_of_one_request_that_was_killed_anywhere_is_sent_again_and_nothing_is_left"),
    ("G8", "worker", "SIGKILL", "after every request of a collection and an expiry", "the next ones make up for it", "tests/chaos/test_bucket_kills.py::test_a_collection_and_an_expiry_that_were_killed_anywhere_are_made_up_for_by_the_next_ones"),
    ("G8", "bucket", "SlowDown, cut, answer lost, error under 200", "each request of a version", "made, or 503 and repeatable", "tests/chaos/test_bucket_faults.py::test_a_bucket_that_fails_at_one_request_costs_nothing_or_is_named_with_the_remedy"),
    ("G8", "store", "read-only", "naming the bytes", "503, nothing left, repeatable", f"{_STORES}::test_an_upload_into_a_store_that_became_read_only_leaves_nothing_and_succeeds_later"),
    ("G16", "store", "disk full", "a pod hands in its weights", "503: the pod repeats it", f"{_STORES}::test_a_pod_s_result_is_refused_as_temporary_while_the_disk_is_full_and_kept_when_it_is_sent_again"),
    ("G8", "backup", "disk full", "writing", "no file", f"{_STORES}::test_a_backup_onto_a_full_disk_fails_and_leaves_no_file"),
    ("G8", "trainer", "SIGKILL", "at every step of writing a checkpoint", "the old one or the new one", f"{_CHECKPOINTS}::test_a_trainer_that_is_killed_at_any_step_of_writing_leaves_the_old_checkpoint_or_the_new_one"),
    ("G8", "checkpoint", "cut, emptied, removed, a byte changed", "each file", "the one before is resumed", f"{_CHECKPOINTS}::test_a_damaged_checkpoint_is_never_chosen_and_the_one_before_it_is"),
    ("G4", "trainer", "a fenced attempt writes on", "after its successor saved", "not resumed", f"{_CHECKPOINTS}::test_a_zombie_s_checkpoint_is_not_resumed_though_its_step_is_higher"),
    ("G4", "pod", "a twin pod", "all the time", "each line and point once", f"{_PODS}::test_twins_of_one_pod_store_every_line_and_point_once"),
    ("G4", "pod", "a fenced attempt reports", "reports, log, artifacts", "410, nothing changes", f"{_PODS}::test_everything_that_a_fenced_attempt_sends_is_refused_and_changes_nothing"),
    ("G4", "pod", "lies", "reports and artifacts", "refused; no state moves", f"{_PODS}::test_a_pod_that_lies_moves_no_job_and_reaches_no_other_attempt"),
    ("G16", "pod", "clock 5 minutes off", "reporting", "no point lost, no deadline moved", f"{_PODS}::test_a_pod_s_clock_that_is_five_minutes_off_loses_no_point_and_moves_no_deadline"),
    ("G16", "control", "clock jumps 5 minutes", "training", "no gang ends", f"{_PODS}::test_the_platform_s_clock_that_jumps_five_minutes_ends_no_gang"),
    ("G5", "web", "away for 5 minutes", "training", "20,000 points and lines once, in order", f"{_PODS}::test_what_a_pod_reports_while_the_api_is_away_for_five_minutes_arrives_once_and_in_order"),
    ("G10", "control", "preemption", "more often than retries", "none used up", f"{_JOBS}::test_preemptions_use_up_no_retries_however_many_there_are"),
    ("G10", "control", "failures and preemptions", "in turn", "counted apart", f"{_JOBS}::test_failures_of_the_platform_and_preemptions_are_counted_apart"),
    ("G13", "backend", "away", "cancelling", "GPUs stay held until the gang is gone", f"{_JOBS}::test_a_cancelled_job_whose_backend_is_away_holds_its_gpus_until_its_gang_is_known_to_be_gone"),
    ("G13", "control", "the gang ends meanwhile", "cancelling", "ended for good", f"{_JOBS}::test_a_cancellation_is_final_though_the_gang_ends_well_or_badly_at_that_moment"),
    ("G3", "control", "down for 0, 20, 60, 600 s", "training", "no relaunch", f"{_JOBS}::test_a_control_loop_that_was_down_for_any_time_takes_over_running_gangs_without_touching_them"),
    ("G8", "backup", "cut, a byte changed", "restoring", "refused before anything changes", f"{_BACKUPS}::test_a_damaged_backup_is_refused_before_anything_changes"),
    ("G8", "backup", "writes meanwhile", "dumping", "one moment", f"{_BACKUPS}::test_what_is_written_while_a_backup_is_made_is_not_in_it"),
    ("G19", "database", "restored from a backup", "attempts live", "fenced, numbers move on", f"{_BACKUPS}::test_an_epoch_fences_live_attempts_and_gives_out_no_number_again"),
    ("G19", "store", "restored from a backup", "collection", "newer files stay", f"{_BACKUPS}::test_files_that_a_restored_database_does_not_know_are_not_removed_for_a_month"),
    ("G19", "checkpoints", "restored from a backup", "collection", "of unknown jobs stay", "tests/jobs/artifacts/test_checkpoints.py::test_only_checkpoints_of_jobs_that_ended_long_ago_are_removed"),
    ("G8", "retention", "the database goes away", "in a batch", "neither removed nor recorded", f"{_RETENTION}::test_a_batch_that_fails_is_neither_removed_nor_recorded"),
    ("G3", "control", "killed between launch and its record", "launching", "repeated with the same token", f"{_LOOP}::test_a_launch_cut_short_by_a_crash_is_made_in_the_next_round_with_the_same_token"),
    ("G7", "node", "lost", "training", "back-off, then elsewhere", f"{_LOOP}::test_a_lost_node_puts_the_job_back_and_it_starts_elsewhere_after_a_back_off"),
    ("G9", "pod", "ignores the request to leave", "preemption", "killed at the end of its grace", f"{_LOOP}::test_a_stubborn_gang_is_killed_at_the_end_of_its_grace"),
    ("G16", "backend", "away", "training", "nothing changes", f"{_LOOP}::test_a_backend_that_is_away_changes_nothing_and_is_asked_again"),
    ("G12", "control", "many jobs", "launching", "no GPU twice", f"{_LOOP}::test_no_slot_is_given_twice"),
    ("G12", "scheduler", "any history", "deciding", "no quota passed", "tests/scheduler/test_properties.py::test_no_tenant_holds_more_than_its_quota_nor_its_parents"),
    ("G11", "scheduler", "jobs come and end", "deciding", "each that fits ends within a bound", "tests/scheduler/test_histories.py::test_every_job_that_fits_ends_within_a_bound"),
    ("G11", "scheduler", "nothing happens", "deciding", "comes to rest", "tests/scheduler/test_properties.py::test_a_cluster_in_which_nothing_happens_comes_to_rest"),
    ("G11", "scheduler", "tenants compete", "reclaiming", "within its guarantee a job is served first", "tests/scheduler/quota/test_reclaim.py::test_v4_a_job_that_waits_within_its_guarantee_is_served_before_any_tenant_borrows_anew"),
    ("G2", "database", "two writers", "a transition", "one wins, one event", "tests/jobs/test_lifecycle.py::test_a_decision_upon_an_older_version_is_refused_as_late"),
    ("G2", "database", "writers overlap", "appending events", "ids in the order of commits", "tests/events/test_actions.py::test_ids_rise_in_the_order_of_commits_though_writers_overlap"),
    ("G6", "web", "answers are lost", "shipping", "once and in order", f"{_LAUNCHER}::test_lines_arrive_once_and_in_order_though_answers_are_lost"),
    ("G5", "database", "restored: lines are lost", "shipping", "sent again", f"{_LAUNCHER}::test_an_api_that_lost_lines_gets_them_again"),
    ("G4", "pod", "fenced", "shipping", "leaves at once", f"{_LAUNCHER}::test_a_pod_that_is_fenced_leaves_at_once"),
    ("G16", "broker", "away", "submitting", "no request fails", "tests/core/test_dispatch.py::test_a_broker_that_is_away_fails_no_request"),
    ("G16", "broker", "away", "events", "stored", "tests/events/test_actions.py::test_an_event_is_stored_while_redis_is_away"),
    ("G1", "broker", "the hand-off is lost", "after a submission", "sent again", "tests/jobs/test_api.py::test_a_job_whose_hand_off_was_lost_is_sent_again"),
    ("G8", "store", "bytes rot", "reading", "noticed", "tests/storage/test_stores.py::test_bytes_that_rotted_are_noticed"),
    ("G15", "database", "rolled back and upgraded", "training", "same attempts, nothing lost or launched again", f"{_UPGRADES}::test_jobs_run_on_over_a_rollback_of_the_schema_and_an_upgrade"),
    ("G15", "database", "rolled back to the version before", "writing", "newer columns have defaults", f"{_UPGRADES}::test_the_version_before_can_write_to_the_newest_schema"),
    ("G15", "pod", "of the version before", "reporting", "taken", f"{_UPGRADES}::test_a_server_takes_what_pods_of_the_version_before_report"),
    ("G15", "pod", "specified by the version before", "starting", "read", f"{_UPGRADES}::test_specifications_of_the_version_before_are_read"),
    ("G15", "web", "rolled back", "newer pods measure more", "taken without what is unknown", f"{_UPGRADES}::test_a_server_that_was_rolled_back_takes_what_newer_pods_measure"),
    ("G17", "web", "submissions beyond the limit", "several tenants at once", "429 and Retry-After; none lost, another tenant is next", "tests/jobs/limits/test_overload.py::test_a_flood_of_submissions_slows_down_only_who_makes_it_and_loses_nothing"),
    ("G17", "web", "requests beyond the limit", "of one user", "429, a time to come back, what is left", f"{_LIMITS}::test_the_request_over_the_limit_is_a_problem_that_says_how_long_to_wait"),
    ("G17", "web", "requests beyond the limit", "of one organisation", "no other's budget is touched", f"{_LIMITS}::test_an_organisation_s_members_share_its_budget_and_no_other_s"),
    ("G17", "web", "wrong credentials", "from one address", "429 there; right ones are served", f"{_LIMITS}::test_wrong_credentials_are_counted_by_address_and_never_shut_out_right_ones"),
    ("G17", "pods", "reports beyond the limit", "of one attempt", "429; grows with its pods", f"{_LIMITS}::test_pods_share_a_budget_that_grows_with_their_number"),
    ("G17", "broker", "away", "requests beyond the limit", "each process counts alone", f"{_LIMITS}::test_without_valkey_each_process_goes_on_counting_alone"),
    ("G17", "worker", "400 uploads of one tenant", "another's one upload", "is next", "tests/storage/test_work_queue.py::test_the_one_upload_of_an_organisation_is_next_though_another_has_four_hundred_waiting"),
    ("G18", "this page", "a test is renamed or removed", "writing", "noticed", f"{_MATRIX}::test_the_test_of_a_case_exists"),
    ("G14", "web", "another organisation asks", "jobs", "404", "tests/jobs/test_api.py::test_charlie_sees_and_touches_nothing_of_another_organisation"),
    ("G14", "web", "another organisation asks", "tenants", "404", "tests/tenants/test_walls.py::test_a_row_of_another_organisation_is_not_there_and_stays_as_it_is"),
    ("G14", "web", "another organisation asks", "datasets", "404", "tests/datasets/test_walls.py::test_what_is_anothers_is_not_there_and_stays_as_it_is"),
    ("G14", "web", "another organisation asks", "models", "404", "tests/registry/test_walls.py::test_what_is_anothers_is_not_there_and_stays_as_it_is"),
)  # fmt: skip

# Cases with real processes of several seconds each.
WITH_PROCESSES = _cases(
    ("G7", "worker 0, worker 1, server", "SIGKILL", "training", "the same weights as undisturbed, bit for bit", "tests/chaos/test_lost_pods.py::test_a_gang_that_lost_a_pod_learns_bit_for_bit_what_an_undisturbed_one_learns"),
    ("G8", "backup", "SIGKILL", "dumping, copying, finishing", "no file of its name", f"{_BACKUP_KILLS}::test_a_backup_that_is_killed_leaves_no_file_of_its_name"),
    ("G8", "restore", "SIGKILL", "before each of its steps", "the old platform or the new one", f"{_BACKUP_KILLS}::test_a_restore_that_is_killed_anywhere_leaves_the_old_platform_or_the_new_one"),
    ("G16", "pod", "fills the disk", "training", "ended with that cause; its room is free, others go on", f"{_LOCAL}::test_a_pod_that_fills_the_disk_is_ended_with_that_cause_and_its_room_is_free_again"),
    ("G3", "launcher of pods", "SIGKILL", "training", "pods live on", f"{_LOCAL}::test_pods_outlive_a_launcher_that_is_killed"),
    ("G4", "launcher of pods", "interrupted", "launching", "no half gang", f"{_LOCAL}::test_a_launch_that_was_interrupted_half_way_leaves_no_half_gang"),
    ("G9", "trainer", "preempted", "training", "resumes as if nothing had happened", "tests/runtime/strategies/test_equivalence.py::test_a_preempted_training_resumes_in_another_shape_as_if_nothing_had_happened"),
    ("G7", "relay, holder, first process or shim of a pod", "SIGKILL", "training", "the attempt fails at once by the platform's fault", f"{_AROUND}::test_a_killed_process_around_a_pod_ends_the_attempt_by_the_platform_s_fault"),
    ("G7", "relay", "SIGKILL", "training of several pods", "named as the cause", f"{_AROUND}::test_a_gang_that_lost_the_relay_of_one_pod_names_the_relay_and_not_what_followed"),
    ("G9", "relay", "SIGKILL", "preemption", "does not pass for a saved checkpoint", f"{_AROUND}::test_a_relay_that_is_killed_while_its_pod_is_asked_to_leave_does_not_pass_for_a_saved_checkpoint"),
    ("G7", "sandbox", "cannot be set up", "starting", "the reason is reported", f"{_AROUND}::test_a_sandbox_that_cannot_be_set_up_is_reported_with_its_reason"),
    ("G7", "parameter server", "SIGKILL", "training", "comes back, nothing twice", "tests/runtime/ps/test_server_restart_in_a_gang.py::test_training_goes_on_when_a_server_is_killed"),
    ("G3", "Kubernetes API", "restarted", "training", "goes on", f"{_KUBERNETES}::test_the_server_may_be_restarted_in_mid_training"),
)  # fmt: skip

# Cases on one whole running platform.
ON_A_PLATFORM = _cases(
    ("G16", "PostgreSQL", "SIGKILL", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "postgres killed"),
    ("G16", "Valkey", "SIGKILL", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "valkey killed"),
    ("G16", "broker", "emptied", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "broker emptied"),
    ("G3", "beat", "SIGKILL", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "beat killed"),
    ("G5", "web", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "web stopped"),
    ("G3", "worker", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "worker stopped"),
    ("G3", "control", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "control stopped"),
    ("G16", "PostgreSQL", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "postgres stopped"),
    ("G16", "Valkey", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "valkey stopped"),
    ("G3", "beat", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "beat stopped"),
    ("G3", "supervisor", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "supervisor stopped"),
    ("G7", "pods", "SIGSTOP for a minute", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "pods stopped"),
    ("G16", "PostgreSQL", "slow: works a fifth of the time", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "postgres slow"),
    ("G16", "PostgreSQL", "read-only", "training", "no point lost, same pods", f"{_PLATFORM}::{_GOES_ON}", "postgres read-only"),
    ("G1", "broker", "emptied", "submitting", "the job runs", f"{_PLATFORM}::test_a_job_that_is_submitted_right_after_the_broker_lost_everything_runs_all_the_same"),
    ("G7", "pod", "SIGKILL", "training", "another attempt resumes", f"{_PLATFORM}::test_a_killed_pod_costs_an_attempt_and_training_resumes_from_its_checkpoint"),
    ("G8", "checkpoint", "a byte changed on disk", "resuming", "the one before is resumed", f"{_PLATFORM}::test_a_node_s_checkpoints_damaged_on_disk_cost_the_steps_since_the_one_before"),
    ("G7", "relay, shim or holder of a pod", "SIGKILL", "training", "another attempt resumes", f"{_SANDBOX}::test_a_killed_process_around_a_pod_costs_an_attempt_and_training_resumes_from_its_checkpoint"),
    ("G1", "worker, holder of a sandbox", "SIGKILL", "dry run", "made again", f"{_SANDBOX}::test_a_dry_run_whose_supervisor_is_killed_is_made_again"),
    ("G3", "web, worker, control", "SIGKILL", "training", "no point, no pod lost", "tests/chaos/test_kills.py::test_killing_web_worker_and_control_loses_no_job_no_point_and_no_pod"),
    ("G3", "supervisor", "SIGKILL", "training", "taken over with its pods", "tests/chaos/test_kills.py::test_a_killed_supervisor_s_platform_is_taken_over_with_its_pods_and_a_stop_leaves_nothing"),
    ("G19", "database", "an older one is restored", "newer gangs run", "they are stopped, their files stay", "tests/chaos/test_backups.py::test_a_backup_made_during_training_is_restored_over_newer_work_and_loses_none_of_its_files"),
    ("G15", "platform", "programs upgraded, rolled back and upgraded", "training", "resumed from each other's checkpoints, nothing lost", "tests/chaos/test_program_versions.py::test_a_job_trains_on_through_an_upgrade_a_rollback_and_an_upgrade"),
)  # fmt: skip

# In the order in which a run with little time makes them.
CASES = (*IN_PROCESS, *ON_A_PLATFORM, *WITH_PROCESSES)
