"""A real HTTP server on loopback that serves files, well or badly."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.send_error(404)
        else:
            answer(self)

    def log_message(self, *_):
        pass

    def begin(self, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def wait(self, seconds=20.0):
        """Until the server closes; the connection stays open meanwhile."""
        self.server.closing.wait(seconds)


class Mirror(ThreadingHTTPServer):
    """``answers`` says what each path gets; ``asked`` lists the paths asked for."""

    daemon_threads = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        self.asked = []
        self.closing = threading.Event()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def add(self, path, answer):
        """Serves bytes, or whatever the function does; returns the address."""
        self.answers[path] = whole(answer) if isinstance(answer, bytes) else answer
        return self.url(path)

    def handle_error(self, *_):
        """Clients that hang up are the point of these tests."""


@contextmanager
def running():
    with Mirror() as mirror:
        thread = threading.Thread(target=mirror.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield mirror
        finally:
            mirror.closing.set()
            mirror.shutdown()
            thread.join()


def whole(body):
    def answer(handler):
        handler.begin(Content_Length=len(body), Content_Type="text/plain")
        handler.wfile.write(body)

    return answer


def page(handler):
    """What a captive portal or a moved site sends in place of the file."""
    whole(b"<!DOCTYPE html><html><body>Please log in.</body></html>")(handler)


def half(handler):
    handler.begin(Content_Length=1000)
    handler.wfile.write(b"a\tr\tb\n" * 50)


def gateway_timeout(handler):
    handler.send_error(504)


def silent(handler):
    """Takes the question and never answers."""
    handler.wait()


def stuck(handler):
    """Begins well, then sends no more."""
    handler.begin(Content_Length=1000)
    handler.wfile.write(b"a\tr\tb\n")
    handler.wait()


def dripping(handler):
    """A byte now and then: never silent, never done."""
    handler.begin(Content_Length=1000)
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"a")


def circle(handler):
    handler.begin(302, Location=handler.path, Content_Length=0)


def to(location):
    return lambda handler: handler.begin(302, Location=location, Content_Length=0)
