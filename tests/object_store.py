"""An S3 server on loopback: moto's, spoken to over HTTP by Arrow's own client."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as pafs
import pytest
import requests


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


@contextmanager
def guarded(url: str) -> Iterator[tuple[str, str]]:
    """Have the server of a bucket check signatures; yields the one key it takes, and its secret.

    A request without a signature fails, too.
    """
    import boto3

    server = f"http://{url.partition('endpoint_override=')[2].partition('&')[0]}"
    nobody = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    iam = boto3.client("iam", endpoint_url=server, region_name="us-east-1", **nobody)
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    iam.create_user(UserName="us")
    iam.put_user_policy(
        UserName="us",
        PolicyName="everything",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [everything]}),
    )
    key = iam.create_access_key(UserName="us")["AccessKey"]
    unchecked = requests.post(f"{server}/moto-api/reset-auth", data=b"0", timeout=30).json()
    try:
        yield key["AccessKeyId"], key["SecretAccessKey"]
    finally:
        before = unchecked["PREVIOUS_INITIAL_NO_AUTH_ACTION_COUNT"]
        requests.post(f"{server}/moto-api/reset-auth", data=before.encode(), timeout=30)
        iam.delete_access_key(UserName="us", AccessKeyId=key["AccessKeyId"])
        iam.delete_user_policy(UserName="us", PolicyName="everything")
        iam.delete_user(UserName="us")
