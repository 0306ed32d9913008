//! The contract of every bash [`Shell`], one test function per fact.
//!
//! [`shell_contract!`](crate::shell_contract) makes a test of each. Functions panic when the fact
//! does not hold, as tests do.

mod answer;
mod ends;
mod input;
mod jobs;
mod output;
mod run;
mod state;

use telechir_device::Shell;

pub use answer::{
    a_prompt_is_reported_and_answered, a_waiting_command_can_be_interrupted,
    an_answer_has_a_timeout, hidden_input_is_detected_and_not_shown, input_can_be_closed,
    keys_are_sent, long_text_arrives_or_is_refused, only_a_waiting_command_is_answered,
    questions_follow_each_other,
};
pub use ends::{
    a_killed_shell_is_replaced, a_list_is_not_continued_after_a_timeout, a_loop_ends_by_timeout,
    a_program_that_ignores_requests_ends_by_timeout, a_replaced_program_has_its_own_code,
    a_restart_discards_state, a_shell_that_ignores_interrupts_still_ends_by_timeout,
    a_timeout_ends_background_processes_of_the_command, a_timeout_is_never_a_success,
    a_timeout_keeps_the_session, exit_codes_are_exact, exit_has_its_code_and_is_reported,
    exit_on_error_has_its_code_and_is_reported, older_jobs_outlive_a_timeout,
};
pub use input::{
    a_here_document_arrives, a_program_that_reads_the_terminal_does_not_hang,
    a_shell_that_reads_the_terminal_does_not_hang, a_zero_byte_is_refused, an_argv_stays_an_argv,
    an_empty_command_succeeds, an_open_here_document_does_not_hang, an_open_quote_is_an_error,
    many_lines_are_one_command,
};
pub use jobs::{
    a_job_inherits_the_state_of_the_shell, a_job_is_answered,
    a_job_is_started_and_read_since_the_last_time, a_job_is_stopped_with_all_its_processes,
    a_job_outlives_a_timeout_and_a_flood_of_its_own, a_restart_ends_jobs, jobs_are_listed,
};
pub use output::{
    a_background_job_does_not_hold_the_result, a_bound_cuts_no_character,
    a_closed_output_comes_back, all_of_a_long_output_can_be_read,
    binary_output_is_reported_as_binary, invalid_bytes_are_replaced,
    late_output_of_a_background_job_is_marked, long_output_is_bounded_and_counted,
    outputs_are_exact, outputs_are_separate, the_output_devices_can_be_opened,
};
pub use state::{
    a_custom_prompt_does_no_harm, a_folder_for_one_command_is_for_it_only,
    a_missing_folder_is_an_error_of_the_command, a_variable_for_one_command_is_for_it_only,
    an_invalid_variable_name_is_refused, functions_and_aliases_last, jobs_last, the_folder_lasts,
    the_last_status_lasts, variables_last,
};

/// Makes a `#[tokio::test]` of every function of [`contract::shell`](crate::contract::shell).
///
/// `$stage` is an async function that returns a shell and a guard that keeps it alive.
#[macro_export]
macro_rules! shell_contract {
    ($stage:path) => {
        $crate::shell_contract!(@tests $stage,
            the_folder_lasts
            variables_last
            functions_and_aliases_last
            the_last_status_lasts
            jobs_last
            a_folder_for_one_command_is_for_it_only
            a_missing_folder_is_an_error_of_the_command
            a_variable_for_one_command_is_for_it_only
            an_invalid_variable_name_is_refused
            a_custom_prompt_does_no_harm
            exit_codes_are_exact
            exit_has_its_code_and_is_reported
            exit_on_error_has_its_code_and_is_reported
            a_replaced_program_has_its_own_code
            a_killed_shell_is_replaced
            a_restart_discards_state
            a_timeout_is_never_a_success
            a_timeout_keeps_the_session
            a_timeout_ends_background_processes_of_the_command
            older_jobs_outlive_a_timeout
            a_list_is_not_continued_after_a_timeout
            a_loop_ends_by_timeout
            a_program_that_ignores_requests_ends_by_timeout
            a_shell_that_ignores_interrupts_still_ends_by_timeout
            an_open_quote_is_an_error
            an_open_here_document_does_not_hang
            a_here_document_arrives
            many_lines_are_one_command
            an_empty_command_succeeds
            an_argv_stays_an_argv
            a_zero_byte_is_refused
            a_program_that_reads_the_terminal_does_not_hang
            a_shell_that_reads_the_terminal_does_not_hang
            a_prompt_is_reported_and_answered
            questions_follow_each_other
            hidden_input_is_detected_and_not_shown
            input_can_be_closed
            a_waiting_command_can_be_interrupted
            keys_are_sent
            long_text_arrives_or_is_refused
            only_a_waiting_command_is_answered
            an_answer_has_a_timeout
            outputs_are_exact
            outputs_are_separate
            long_output_is_bounded_and_counted
            a_bound_cuts_no_character
            invalid_bytes_are_replaced
            the_output_devices_can_be_opened
            a_closed_output_comes_back
            a_background_job_does_not_hold_the_result
            late_output_of_a_background_job_is_marked
            all_of_a_long_output_can_be_read
            binary_output_is_reported_as_binary
            a_job_is_started_and_read_since_the_last_time
            a_job_inherits_the_state_of_the_shell
            jobs_are_listed
            a_job_is_answered
            a_job_is_stopped_with_all_its_processes
            a_job_outlives_a_timeout_and_a_flood_of_its_own
            a_restart_ends_jobs
        );
    };
    (@tests $stage:path, $($fact:ident)*) => {
        $(
            #[tokio::test]
            async fn $fact() {
                let (mut shell, _guard) = $stage().await;
                $crate::contract::shell::$fact(&mut shell).await;
                $crate::contract::shell::close(shell).await;
            }
        )*
    };
}

/// Closes a shell, which must succeed.
pub async fn close(shell: impl Shell) {
    if let Err(error) = Box::new(shell).close().await {
        panic!("failed to close the shell: {error}");
    }
}
