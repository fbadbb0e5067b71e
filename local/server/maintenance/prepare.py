"""`handoff up --install`, the part that the service knows: are the options right, and where do the settings go?"""

import argparse
import os

from local.chats.real import RealBots
from local.console import Console
from local.options import faults
from local.server.directory import Unusable
from local.server.options import Invalid, parse
from local.server.settings_file import create_settings, known_names, read_settings


def prepare(asked: argparse.Namespace, console: Console) -> int:
    """Make the directory with a file for settings. Raises Unusable if the service would not start with these options."""
    given = {"data": asked.data, "listen": asked.listen, "public-url": asked.public_url}
    try:
        options = parse([f"--{name}={value}" for name, value in given.items() if value], os.environ)
    except Invalid as invalid:
        raise Unusable(str(invalid)) from invalid
    directory = options.directory
    directory.create()
    is_created = create_settings(directory.settings)
    settings = read_settings(directory.settings)
    unseen = [name for name in known_names() if os.environ.get(name) and name not in settings]
    result = {
        "data": str(directory.path),
        "settings": str(directory.settings),
        "created": is_created,
        "unseen": unseen,
        "problems": [*faults(settings), *RealBots.from_environment(settings).faults()],
    }
    return console.done(result, str(directory.settings))
