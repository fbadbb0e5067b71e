"""A file as a part of a form, for SDKs that post with aiohttp."""

from aiohttp.payload import IOBasePayload

from shared.platforms.uploads import FileReader


class FilePayload(IOBasePayload):
    """Its bytes are read beside the loop. Its size is known, so the form has a length: not every server takes chunks."""

    def __init__(self, reader: FileReader) -> None:
        super().__init__(reader, content_type=reader.media_type)  # type: ignore[arg-type]  # it has all that is used
        self._known = reader.size

    @property
    def size(self) -> int:
        return self._known
