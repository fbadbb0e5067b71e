"""Points the bots at the deployment, where the platform lets a program do that."""

from collections.abc import Iterator, Mapping

from shared.errors import PlatformError, Rejected
from shared.platforms import PLATFORMS
from shared.platforms.set_up import Way, guide_of
from shared.platforms.spec import PlatformSpec
from shared.ports.secrets import Secrets


def set_webhooks(
    secrets: Secrets, url: str, urls: Mapping[str, Mapping[str, str]], *, options: str, take: bool
) -> Iterator[str]:
    """Yield lines for each platform whose secrets are set. A bot that posts elsewhere is left alone unless `take`.

    `urls` are the addresses of platforms that differ from the public ones. Never raises: a deploy does not fail for a bot.
    """
    for spec in PLATFORMS:
        values = {name: secrets.get(name) or "" for name in (*spec.secrets, *spec.optional_secrets)}
        if spec.here_only or not spec.is_supported or not all(values[name] for name in spec.secrets):
            continue
        addresses = spec.urls(urls)
        way = Way(api_url=addresses.api, link_url=addresses.link, webhook_url=f"{url}/webhooks/{spec.name}")
        for line in _connect(spec, values, way, options=options, take=take):
            yield f"{spec.title}: {line}"


def _connect(spec: PlatformSpec, values: Mapping[str, str], way: Way, *, options: str, take: bool) -> Iterator[str]:
    again = f"handoff setup {spec.name} {options}"
    try:
        guide = guide_of(spec)
        other = guide.used_by(values, way)
        if other and not take:
            taking = f"handoff deploy {options} --take-webhooks"
            yield f"the bot posts to {other}, so it was left alone. To let it post here: {taking}"
            return
        left_to_do = guide.connect(values, way)
    except ImportError:  # its SDK does not come with the extra for deploying
        yield f"to let the bot post to {way.webhook_url}: {again}"
    except Rejected as rejected:
        yield f"the webhook could not be set: {str(rejected).rstrip('.')}. Then: {again}"
    except PlatformError as error:
        yield f"the webhook could not be set ({type(error).__name__}). Repeat the command."
    else:
        yield from left_to_do or ["the bot posts to this deployment."]
