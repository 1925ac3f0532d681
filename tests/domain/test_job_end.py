"""What is said of the end of a background command, to whom, and where there is little room."""

import pytest

from quorum.domain.calls.job import JobStatus, JobStopper, describe_job_end, shorten_job_end


@pytest.mark.parametrize(
    ("stopper", "reader", "said"),
    [
        (JobStopper.MODEL, JobStopper.MODEL, "was stopped by you after 3.0 s"),
        (JobStopper.PERSON, JobStopper.MODEL, "was stopped by the person after 3.0 s"),
        (JobStopper.MODEL, JobStopper.PERSON, "was stopped by the model after 3.0 s"),
        (JobStopper.PERSON, JobStopper.PERSON, "was stopped by you after 3.0 s"),
        (JobStopper.MODEL, None, "was stopped by the model after 3.0 s"),
        (JobStopper.PERSON, None, "was stopped by the person after 3.0 s"),
        (None, JobStopper.PERSON, "was stopped after 3.0 s"),
    ],
)
def test_you_is_who_reads_it(stopper, reader, said):
    assert describe_job_end(JobStatus.STOPPED, -15, stopper, 3.0, reader=reader) == said


@pytest.mark.parametrize(
    ("status", "exit_code", "short"),
    [
        (JobStatus.RUNNING, None, "running 8.1 s"),
        (JobStatus.ENDED, 3, "exit 3 · 8.1 s"),
        (JobStatus.ENDED, -9, "killed · 8.1 s"),
        (JobStatus.ENDED, None, "ended · 8.1 s"),
        (JobStatus.STOPPED, -15, "stopped · 8.1 s"),
        (JobStatus.TIMED_OUT, -9, "time limit · 8.1 s"),
        (JobStatus.UNKNOWN, None, "end not seen"),
    ],
)
def test_in_a_list_how_it_ended_comes_first_and_fits(status, exit_code, short):
    assert shorten_job_end(status, exit_code, 8.1) == short
