"""What runs in `make test-long` only has a quick test beside it, or here one that represents it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import _read_pyc

from tests.support.compiled_tests import compile_tests
from tests.support.long_tests import LONG_TESTS, may_have_long_tests

ROOT = Path(__file__).parents[2]

REPRESENTED = {
    "tests/e2e/test_site_in_chromium.py": "tests/architecture/test_site.py::"
    "test_the_site_holds_whatever_its_pages_link_to",
    "tests/e2e/test_shared_page_in_chromium.py": "tests/infrastructure/audit/test_shared_page.py::"
    "test_the_page_holds_the_signed_export_and_allows_its_own_script_and_style_alone",
    "tests/contracts/test_doors.py": "tests/quorum/gate/test_other_dialects.py::"
    "test_codex_goes_on_without_a_word_where_a_call_may_run",
    "tests/e2e/test_acp.py": "tests/infrastructure/test_added_folders.py::"
    "test_edits_in_an_added_folder_are_edits_inside_the_workspace",
    "tests/e2e/test_agents.py": "tests/quorum/test_agent_sessions.py::"
    "test_the_answer_of_the_agent_is_the_answer_of_the_run",
    "tests/e2e/test_custom_commands.py": "tests/infrastructure/instructions/test_commands_in_a_session.py::"
    "test_a_turn_that_is_taken_back_gives_the_command_as_it_was_typed",
    "tests/e2e/test_custom_commands_survive_kills.py": "tests/infrastructure/instructions/"
    "test_commands_in_a_session.py::test_a_turn_that_is_taken_back_gives_the_command_as_it_was_typed",
    "tests/e2e/test_left_overs_of_kills.py": "tests/infrastructure/ledger/test_session_locks.py::"
    "test_whoever_opens_the_database_removes_the_locks_of_killed_processes",
    "tests/e2e/test_three_kills.py": "tests/application/test_signed_approval.py::"
    "test_too_few_that_hold_let_nothing_run",
    "tests/e2e/test_plans.py": "tests/domain/test_plan.py::"
    "test_planning_ends_with_an_approval_in_the_scope_that_was_there_before",
    "tests/e2e/test_pull_request_review.py": "tests/infrastructure/changes/test_pull_requests.py::"
    "test_after_an_approval_only_what_was_pushed_since_is_reviewed",
    "tests/e2e/test_resume_in_another_environment.py": "tests/application/test_model_switch.py::"
    "test_a_model_that_cannot_be_had_changes_nothing",
    "tests/e2e/test_secrets.py": "tests/domain/test_masking.py::"
    "test_however_a_text_is_cut_no_secret_leaves_and_nothing_else_is_lost",
    "tests/e2e/test_sessions_in_the_app.py": "tests/application/test_session_resume.py::"
    "test_wherever_the_record_ends_the_session_goes_on_with_a_legal_history",
    "tests/e2e/test_background_subagents.py": "tests/application/test_subagent_runner.py::"
    "test_the_owner_works_on_while_a_subagent_does_and_reads_its_report_as_a_note",
    "tests/e2e/test_session_hooks_in_runs.py": "tests/application/test_session_hooks.py::"
    "test_the_end_is_seen_once_and_before_it_is_recorded",
    "tests/e2e/test_unusable_state.py": "tests/application/test_session_resume.py::"
    "test_a_prompt_that_cannot_be_recorded_is_not_sent_and_can_be_sent_later",
    "tests/e2e/test_acp_clients.py": "tests/quorum/acp_agent/test_client_servers.py::"
    "test_a_program_and_an_address_become_settings_of_their_names",
    "tests/e2e/test_acp_staged.py": "tests/quorum/acp_agent/test_layer_question.py::"
    "test_an_approval_is_of_what_was_shown_and_of_nothing_that_came_after",
    "tests/e2e/test_acp_servers.py": "tests/quorum/acp_agent/test_client_servers.py::"
    "test_headers_and_variables_are_kept_apart_from_the_settings_and_known_as_secrets",
    "tests/e2e/test_crashes.py": "tests/e2e/test_kill_during_maintenance.py::"
    "test_a_call_whose_hook_before_it_was_killed_never_began",
    "tests/e2e/test_doctor_requests.py": "tests/infrastructure/test_doctor_probe.py::"
    "test_each_model_is_asked_once_whatever_its_roles_and_the_used_come_first",
    "tests/e2e/test_same_decisions_in_every_front_end.py": "tests/e2e/test_permissions_command.py::"
    "test_a_command_is_looked_at_as_in_a_run",
    "tests/e2e/test_failing_participants.py": "tests/application/test_failing_participants.py::"
    "test_one_or_two_of_three_that_do_not_answer_are_named_and_the_rest_goes_on",
    "tests/e2e/test_final_review_run.py": "tests/domain/test_final_review.py::"
    "test_an_undo_takes_the_review_back_and_a_redo_brings_it_again",
    "tests/e2e/test_interruptions.py": "tests/application/test_run_agent.py::"
    "test_cancelled_at_any_moment_the_history_stays_legal_and_the_next_prompt_works",
    "tests/e2e/test_ledger_damage_between_commands.py": "tests/infrastructure/ledger/test_ledger_damage.py::"
    "test_a_file_that_is_no_database_is_put_aside_whole_and_a_new_one_made",
    "tests/e2e/test_panel_steps_in_a_terminal.py": "tests/application/test_discussion.py::"
    "test_reviews_on_record_are_not_asked_for_again_either",
    "tests/e2e/test_plan_steps_in_a_terminal.py": "tests/application/test_plan_reviews.py::"
    "test_a_round_that_had_ended_is_neither_asked_nor_recorded_again_after_a_crash",
    "tests/e2e/test_draft_ensemble_run.py": "tests/application/test_draft_ensemble.py::"
    "test_after_an_interruption_no_draft_is_asked_for_again",
    "tests/e2e/test_tabs_that_know_of_each_other.py": "tests/infrastructure/test_session_exchanges.py::"
    "test_what_was_told_outlives_the_process_and_is_read_once",
    "tests/e2e/test_tour.py": "tests/e2e/test_full_screen.py::"
    "test_reads_overlap_an_edit_is_approved_and_a_command_rejected_with_a_reason",
    "tests/e2e/test_signed_on_two_machines.py": "tests/infrastructure/test_ssh_signatures.py::"
    "test_a_key_that_is_revoked_or_has_expired_counts_no_more",
    "tests/e2e/test_two_machines.py": "tests/infrastructure/postgres/test_leases.py::"
    "test_what_one_gave_back_another_continues",
    "tests/e2e/test_worktree_tab.py": "tests/tui/test_worktree_tabs.py::"
    "test_a_worktree_is_worked_in_shown_merged_and_dropped_in_tabs",
    "tests/e2e/test_spend_question_in_the_app.py": "tests/application/test_spend_caps.py::"
    "test_the_person_is_asked_before_a_cap_is_exceeded_and_may_raise_it_by_the_same_amount",
    "tests/e2e/test_task_run.py": "tests/application/test_subagent_runner.py::"
    "test_what_happens_in_its_session_reaches_the_observers_with_its_name",
    "tests/e2e/test_run_costs.py": "tests/application/test_run_agent.py::"
    "test_each_request_tells_its_cost_and_the_report_the_sum",
    "tests/e2e/test_bench_reviewers.py": "tests/infrastructure/benchmark/test_ballot_file.py::"
    "test_ballots_of_other_reviewers_stay",
    "tests/e2e/test_recorded_conversations.py": "tests/application/test_fallback_models.py::"
    "test_a_recorded_conversation_goes_on_with_another_provider",
    "tests/e2e/test_review_run.py": "tests/infrastructure/changes/test_shown_content.py::"
    "test_what_a_sensitive_file_of_the_change_holds_is_masked_in_the_others",
    "tests/e2e/test_mentions_in_runs.py": "tests/infrastructure/tools/test_mentioned_files.py::"
    "test_a_mentioned_file_is_sent_with_the_prompt_and_is_on_record",
    "tests/e2e/test_ensemble_run.py": "tests/application/test_draft_ensemble.py::"
    "test_after_an_interruption_no_draft_is_asked_for_again",
    "tests/e2e/test_faulty_code_in_runs.py": "tests/application/test_plugin_code.py::"
    "test_a_tool_that_tries_to_end_the_process_fails_alone",
    "tests/application/test_lookalikes_in_reviews.py": "tests/domain/test_lookalikes.py::"
    "test_a_command_that_is_not_what_it_looks_like_is_named",
    "tests/e2e/test_escalation.py": "tests/application/test_quorum_review.py::"
    "test_with_escalation_one_sure_approval_lets_a_call_run_and_the_record_says_on_what_it_rests",
    "tests/e2e/test_plan_reviews_in_runs.py": "tests/application/test_plan_reviews.py::"
    "test_what_reviewers_object_to_goes_back_to_the_model_and_the_person_is_not_asked",
    "tests/e2e/test_discuss_run.py": "tests/application/test_discussion.py::"
    "test_all_answer_review_each_other_and_the_moderator_makes_one_text_of_it",
    "tests/e2e/test_plan_ensemble_run.py": "tests/application/test_plan_ensemble.py::"
    "test_every_plan_is_to_be_read_with_what_the_others_say_of_it_the_best_first",
    "tests/e2e/test_interrupted_plan_tasks.py": "tests/application/test_plan_task_runner.py::"
    "test_a_task_that_is_done_is_not_run_again_and_one_that_failed_is",
    "tests/e2e/test_killed_subagents.py": "tests/domain/test_subagents.py::"
    "test_a_task_that_had_ended_gives_its_text_after_a_restart",
    "tests/e2e/test_debate_run.py": "tests/application/test_debate.py::"
    "test_an_objection_that_is_upheld_leads_to_a_revised_answer",
    "tests/e2e/test_background_jobs_in_the_app.py": "tests/application/test_background_jobs.py::"
    "test_the_end_of_the_session_tells_what_became_of_each_job",
    "tests/e2e/test_injection.py": "tests/application/test_voting.py::"
    "test_a_text_inside_a_packet_changes_nothing_outside_its_fence",
    "tests/infrastructure/tools/web/test_web_in_a_run.py": "tests/infrastructure/tools/web/test_web_fetch.py::"
    "test_text_comes_as_it_is_under_its_address_and_status",
    "tests/tui/test_contrast.py": "tests/tui/test_themes.py::"
    "test_everything_that_is_drawn_can_be_read_on_its_ground",
}


@pytest.mark.long
def test_every_file_of_tests_has_a_quick_test_or_is_named_here() -> None:
    without = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.long" in path.read_text(encoding="utf-8")  # only these are parsed, which takes long
        and (tests := _tests(path))
        and not any(tests.values())
    }

    assert without == set(REPRESENTED)


@pytest.mark.parametrize(
    ("source", "may"),
    [
        ("@pytest.mark.long\ndef test_a(): ...", True),
        ("from hypothesis import given", True),
        ("def test_a_long_text(): ...", False),
    ],
)
def test_the_long_run_imports_the_files_that_name_its_tests(source: str, may: bool, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(source)

    assert may_have_long_tests(tmp_path / "test_it.py") is may
    assert f'-m "{LONG_TESTS}"\n' in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_tests_are_compiled_once_and_with_assertions_that_say_what_was_compared(tmp_path: Path) -> None:
    for name, source in {
        "test_it": "def test_it(): assert 1 + 1 == 3",
        "test_no": "def",
        "other": "X = 1",
    }.items():
        (tmp_path / f"{name}.py").write_text(source)
    compile_tests(tmp_path)
    compiled = {file.name: file.stat() for file in tmp_path.rglob("*.pyc")}
    compile_tests(tmp_path)

    assert {file.name: file.stat() for file in tmp_path.rglob("*.pyc")} == compiled
    assert len(compiled) == 2
    test: dict[str, Callable[[], None]] = {}
    exec(_read_pyc(tmp_path / "test_it.py", *tmp_path.rglob("test_it*.pyc")), test)
    with pytest.raises(AssertionError, match=r"assert \(1 \+ 1\) == 3"):
        test["test_it"]()


@pytest.mark.parametrize("test", REPRESENTED.values())
def test_what_represents_a_long_file_is_quick(test: str) -> None:
    path, _, name = test.partition("::")

    assert _tests(ROOT / path)[name]


@pytest.mark.long(after=2)
@pytest.mark.parametrize("case", range(4))
def test_the_first_cases_of_a_long_test_may_be_quick(case: int, request: pytest.FixtureRequest) -> None:
    assert (request.node.get_closest_marker("long") is not None) == (case >= 2)


def _tests(path: Path) -> dict[str, bool]:
    """The tests of a file, and whether at least their first case runs in `make test`."""
    return {
        node.name: "pytest.mark.long" not in [ast.unparse(decorator) for decorator in node.decorator_list]
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }
