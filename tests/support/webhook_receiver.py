"""A receiver of webhooks, in place of the service's webhook function."""

from tests.support.servers import WAIT_SECONDS, Answer, HttpServer, Request, Response


class WebhookReceiver(HttpServer):
    """Accepts every event, unless `answer` was told otherwise."""

    def __init__(self) -> None:
        super().__init__(Response(body=b"{}"))
        self._accepted: list[Request] = []
        self._read = 0

    def answer(self, *answers: int | Response | Answer) -> None:
        """The next answers, a number being a status; the last one stays in force."""
        with self._changed:
            self.script = [Response(one, b"{}") if isinstance(one, int) else one for one in answers]

    def next(self, *, within: float = WAIT_SECONDS) -> Request:
        """The first event that was not read yet; waits for it."""
        self._read += 1
        return self.received(self._read, within=within)[-1]

    @property
    def unread(self) -> int:
        return len(self.requests) - self._read

    def accepted(self, count: int, *, within: float = WAIT_SECONDS) -> list[Request]:
        """The first `count` events that were answered with 200; waits for them."""
        return self._first(self._accepted, count, within)

    def respond(self, request: Request) -> Response:
        response = super().respond(request)
        if response.status == 200:
            with self._changed:
                self._accepted.append(request)
                self._changed.notify_all()
        return response
