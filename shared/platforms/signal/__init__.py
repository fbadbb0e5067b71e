"""Signal, by the daemon of signal-cli."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="signal",
    title="Signal",
    threads=False,
    adapter="shared.platforms.signal.adapter:Signal",
    set_up="shared.platforms.signal.set_up:SignalSetUp",
    secrets=("signal/account", "signal/relay_secret"),
    # A chat with a person has the person's service id, a group its id in base64 for URLs.
    chat_id=r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|group\.[A-Za-z0-9_-]{43}",
    person_id=r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    here_only=(
        "Signal works on one machine only, with `handoff up`: the service must reach signal-cli's daemon, which has no "
        "password and must not be reachable from elsewhere."
    ),
    api_url="http://127.0.0.1:8080",
    link_url="https://signal.me",
    lazy_imports=("shared.platforms.signal.api",),
)
