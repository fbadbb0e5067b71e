"""Every kill point on every platform and engine; tests/faults/test_kill_points.py takes a sample of them."""

from collections.abc import Iterator

import pytest

from local.chats.simulator import Simulator
from tests.support.engines import ENGINES, ONE_MACHINE, Faulty, started
from tests.support.kill_cases import FileCase, KillCase, find_file_points, find_points, read_again_soon, run_cases
from tests.support.platform_cases import HOMES, PLATFORMS, THREADED
from tests.support.server_process import user_of
from tests.support.supervised_server import RESTART_SECONDS, SupervisedServer
from tests.support.sweeping import sweeping

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=ENGINES)
def faulty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    """One handoff to each platform comes first: where a chat holds a session already, the calls are others."""
    with started(request.param, lambda: tmp_path_factory.mktemp("machine")) as running:
        user = user_of(running.service)
        for platform in PLATFORMS:
            user.hand_off(user.create_session(), platform, target=HOMES[platform])
        yield running


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedServer]:
    with Simulator() as chats, SupervisedServer(tmp_path_factory.mktemp("program"), chats).running() as running:
        yield running


@pytest.mark.parametrize("faulty", [ONE_MACHINE], indirect=True)
@pytest.mark.parametrize("platform", THREADED)
@pytest.mark.parametrize("talk", [False, True], ids=["handoff", "message"])
def test_all_is_done_once_if_the_process_dies_at_any_point(
    faulty: Faulty, program: SupervisedServer, platform: str, *, talk: bool
) -> None:
    """SIGKILL of the whole service, one case after the other: it would interrupt the others at any point."""
    found = find_points(user_of(faulty.service), faulty.kill_points, [platform], talk=talk)
    cases = [KillCase(program.user(), point, RESTART_SECONDS, hits_all=True) for point in found]
    run_cases(cases, program.kills, talk=talk)


@pytest.mark.parametrize("faulty", [ONE_MACHINE], indirect=True)
@pytest.mark.parametrize("platform", THREADED)
def test_a_message_with_a_file_is_answered_once_if_the_process_dies_at_any_point(
    faulty: Faulty, program: SupervisedServer, platform: str
) -> None:
    found = find_file_points(user_of(faulty.service), faulty.kill_points, platform)
    cases = [FileCase(program.user(), point, RESTART_SECONDS, hits_all=True) for point in found]
    run_cases(cases, program.kills, talk=True)
    assert sum(case.was_killed for case in cases) > len(cases) // 2


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("talk", [False, True], ids=["handoff", "message"])
def test_all_is_done_once_at_every_kill_point(faulty: Faulty, platform: str, *, talk: bool) -> None:
    user = user_of(faulty.service)
    found = find_points(user, faulty.kill_points, [platform], talk=talk)
    assert len(found) > (10 if talk else 20)
    with sweeping(faulty.service):
        run_cases([KillCase(user, point) for point in found], faulty.kill_points, talk=talk)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_with_a_file_is_answered_once_at_every_kill_point(
    faulty: Faulty, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_again_soon(monkeypatch)
    user = user_of(faulty.service)
    cases = [FileCase(user, point) for point in find_file_points(user, faulty.kill_points, platform)]
    assert len(cases) > 20
    with sweeping(faulty.service):
        run_cases(cases, faulty.kill_points, talk=True)
    assert sum(case.was_killed for case in cases) > len(cases) // 2
