"""An S3 server on loopback: moto's, spoken to over HTTP by Arrow's own client."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as pafs
import pytest


@contextmanager
def bucket(cache: Path) -> Iterator[str]:
    """Serve an empty bucket; yields `s3://bucket/%s?…`, the URL of anything in it.

    Within, the environment has keys that the server takes, and `cache` as the user's cache.
    """
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "testing")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            patch.setenv("XDG_CACHE_HOME", str(cache))
            address = f"endpoint_override={host}:{port}&scheme=http"
            s3, _ = pafs.FileSystem.from_uri(f"s3://bucket/x?{address}&allow_bucket_creation=true")
            s3.create_dir("bucket")
            yield f"s3://bucket/%s?{address}"
    finally:
        server.stop()
