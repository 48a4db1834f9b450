"""Dash apps that only this machine can reach unless they are told otherwise, and their servers."""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dash import Dash
from flask import abort, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from cluster_sim.errors import InputError

MOST_BYTES = 8 * 2**20
"""Size of a request, bytes: many times that of a scenario with thousands of changes."""
LOCAL = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")
# Dash starts with scripts within the page, and plotly.js compiles WebGL code: hence unsafe-inline and unsafe-eval. What
# matters is that nothing is loaded from, or sent to, anywhere else.
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def guarded_app(package: str, name: str, page: str, host: str, **settings: Any) -> Dash:
    """Return an app with the page ``page`` around it, which loads nothing from elsewhere.

    Unless ``host`` says that all may come, requests for another host's name are refused. ``package`` is the module that
    makes it, ``name`` the command. ``settings`` are Dash's own.
    """
    settings |= {"serve_locally": True, "include_assets_files": False, "update_title": "", "index_string": page}
    if "enable_mcp" in inspect.signature(Dash.__init__).parameters:  # since Dash 4
        settings["enable_mcp"] = False
    app = Dash(package, title=f"cluster-sim {name}", **settings)
    _guard(app, host)
    return app


def _guard(app: Dash, host: str) -> None:
    """Refuse what a foreign web page could have a browser ask of this machine (DNS rebinding).

    Also refused is what the page never sends: a body that is no request of a callback, or larger than any.
    """
    known = None if host in EVERYWHERE else {*LOCAL, host.lower()}
    app.server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES

    @app.server.before_request
    def check_host() -> None:
        # Without the port: localhost:8050 is localhost, [::1]:8050 is ::1.
        host = request.host.lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if known is not None and name not in known:
            abort(403)

    @app.server.errorhandler(Exception)
    def refuse(error: Exception) -> Any:
        # The page tells errors of callbacks. Here are those that Dash raises for a body before it reaches a callback.
        if isinstance(error, HTTPException):
            return error
        if request.method != "POST":
            raise error
        return "expected a request of this page\n", 400, {"Content-Type": "text/plain"}

    @app.server.after_request
    def close(response: Any) -> Any:
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


class _Quiet(WSGIRequestHandler):
    """Request handler that logs nothing."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def server_of(app: Dash, name: str, host: str, port: int) -> BaseWSGIServer:
    """Return a server of the app that listens on a port, 0: any free one. Raises InputError, for ``name``, when it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        raise InputError(f"{name}, {host} port {port}", "an address to listen on", error.strerror) from None
    with listening:
        # The server takes a copy of the socket, and would exit by itself where it had to bind one that is in use.
        return make_server(host, port, app.server, True, 1, _Quiet, fd=listening.fileno())


@contextmanager
def served(app: Dash, name: str, port: int = 0) -> Iterator[str]:
    """Serve an app for this machine from a thread, and yield its address. Raises InputError as :func:`server_of` does."""
    server = server_of(app, name, LOCAL[0], port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield address_of(server, LOCAL[0])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def address_of(server: BaseWSGIServer, host: str) -> str:
    """Return the address of the page for a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{server.socket.getsockname()[1]}/"
