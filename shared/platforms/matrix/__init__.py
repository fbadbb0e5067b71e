"""Matrix."""

from shared.platforms.spec import PlatformSpec

_SERVER = r"[A-Za-z0-9.\[\]:-]{1,120}"

SPEC = PlatformSpec(
    name="matrix",
    title="Matrix",
    threads=True,
    adapter="shared.platforms.matrix.adapter:Matrix",
    set_up="shared.platforms.matrix.set_up:MatrixSetUp",
    secrets=("matrix/bot_token", "matrix/webhook_secret"),
    # Since version 12 of rooms their ids name no server. An alias (`#…`) may lead to another room tomorrow.
    chat_id=rf"![A-Za-z0-9._~=/+-]{{1,100}}(?::{_SERVER})?",
    person_id=rf"@[!-9;-~]{{1,120}}:{_SERVER}",
    api_url="https://matrix-client.matrix.org",
    link_url="https://matrix.to/#",
    lazy_imports=("shared.platforms.matrix.api", "shared.platforms.matrix.html"),
    # A transaction holds up to 100 events of 64 KiB. One that is refused holds back all that follows, for ever.
    body_limit=8 * 1024 * 1024,
    drops_oversized=True,
    # The specification fixes the path to which homeservers push.
    webhook_paths=("/_matrix/push/v1/notify",),
)
