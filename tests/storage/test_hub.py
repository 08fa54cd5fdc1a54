"""Against a local stand-in for the hub's HTTP interface: as much of it as the hub's own client uses."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from huggingface_hub import ModelCard, constants
from typer.testing import CliRunner

import anyner
from anyner.cli.main import app
from anyner.errors import AnynerError
from anyner.storage.load import find

NAME = "me/cells"
TEXT = "Normal and malignant B cells express CD23 mRNA."
Files = dict[str, bytes]


class Hub(ThreadingHTTPServer):
    """One repository: a list of commits, each with all its files."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.commits: list[Files] = [{}]
        self.uploads: Files = {}
        self.private = False
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def commit(self, lines: list[dict[str, Any]]) -> None:
        files = dict(self.commits[-1])
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.uploads[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        self.commits.append(files)

    def at(self, revision: str) -> tuple[str, Files] | None:
        """The commit and its files, for `main` or a commit by its name."""
        number = (
            len(self.commits) - 1 if revision == "main" else int(revision, 16) if re.fullmatch("[0-9a-f]{40}", revision) else -1
        )
        return (f"{number:040x}", self.commits[number]) if 0 <= number < len(self.commits) else None


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, plain: object, status: int = 200) -> None:
        self.answer(json.dumps(plain).encode(), status, Content_Type="application/json")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
        hub = self.server
        if self.path == "/api/repos/create":
            asked = json.loads(sent)
            hub.private = asked.get("private", asked.get("visibility") == "private")
            self.json({"url": f"{hub.address}/{NAME}"})
        elif "/preupload/" in self.path:
            files = json.loads(sent)["files"]
            kinds = ["lfs" if one["path"].endswith((".safetensors", ".onnx")) else "regular" for one in files]
            self.json(
                {"files": [{**one, "uploadMode": kind, "shouldIgnore": False} for one, kind in zip(files, kinds, strict=True)]}
            )
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**one, "actions": {"upload": {"href": f"{hub.address}/upload/{one['oid']}"}}}
                for one in json.loads(sent)["objects"]
            ]
            self.json({"transfer": "basic", "objects": objects})
        elif "/commit/" in self.path:
            hub.commit([json.loads(line) for line in sent.splitlines()])
            self.json({"commitUrl": f"{hub.address}/{NAME}/commit/x", "commitOid": "0" * 40})
        else:
            self.json({})

    def do_PUT(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.uploads[hashlib.sha256(sent).hexdigest()] = sent
        self.answer(b"")

    def do_GET(self) -> None:
        hub = self.server
        hub.asked.append(self.path)
        parts = self.path.partition("?")[0].strip("/").split("/")
        if "tree" in parts and (found := hub.at(parts[5])):
            self.json([{"type": "file", "path": name, "size": len(data), "oid": "0"} for name, data in found[1].items()])
        elif parts[0] == "api" and (found := hub.at(parts[-1] if "revision" in parts else "main")):
            self.json({"id": NAME, "sha": found[0], "siblings": [{"rfilename": name} for name in found[1]], "private": True})
        elif "resolve" in parts and (found := hub.at(parts[3])) and parts[4] in found[1]:
            data = found[1][parts[4]]
            etag = f'"{hashlib.sha256(data).hexdigest()}"'
            self.answer(data, ETag=etag, X_Repo_Commit=found[0], X_Linked_Size=str(len(data)))
        else:
            self.answer(b"", 404, X_Error_Code="RevisionNotFound")

    do_HEAD = do_GET  # noqa: N815


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    server = Hub()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    # HF_ENDPOINT sets these two, once for a process
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def push(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["push", *arguments])
    return result.exit_code, (result.stdout or result.stderr).strip()


def test_a_model_goes_to_the_hub_and_back(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(find("biomed-en"), tmp_path / "model"))
    (folder / "notes.txt").write_text("not for others", encoding="utf-8")
    assert push(str(folder), NAME, "--license", "apache-2.0", "--language", "en") == (0, f"{hub.address}/{NAME}")
    sent = {path.name for path in folder.iterdir()} - {"notes.txt"}
    assert hub.private is True and set(hub.commits[-1]) == sent and "graph.onnx" in sent
    data = ModelCard(hub.commits[-1]["README.md"].decode()).data.to_dict()
    assert data == {
        "library_name": "anyner",
        "pipeline_tag": "token-classification",
        "tags": ["anyner", "named-entity-recognition", "set_gner"],
        "license": "apache-2.0",
        "language": ["en"],
    }
    expected = anyner.load(folder).predict(TEXT)
    assert anyner.load(NAME).predict(TEXT) == expected
    for name in ("graph.json", "graph-int8.onnx"):  # files of the old model that the new one lacks
        (folder / name).unlink()
    assert push(str(folder), NAME)[0] == 0
    assert set(hub.commits[-1]) == {*sent} - {"graph.json", "graph-int8.onnx"}
    assert (find(NAME) / "graph.onnx").is_file() and not (find(NAME) / "graph.json").exists()
    assert (find(NAME, f"{1:040x}") / "graph.json").is_file()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.asked)
    assert anyner.load(NAME, revision=f"{1:040x}").predict(TEXT) == expected and len(hub.asked) == asked
    with pytest.raises(AnynerError, match=r"^me/other: no such folder, and it could not be downloaded") as caught:
        anyner.load("me/other", revision="v1")
    assert "\n" not in str(caught.value)


def test_a_failed_push_or_download_is_one_line(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert push(str(tmp_path), NAME) == (1, f"anyner: {tmp_path} is not a model folder")
    folder = str(find("biomed-en"))
    assert push(folder, "cells") == (1, "anyner: a model on the Hugging Face Hub is named owner/name, got 'cells'")
    with pytest.raises(AnynerError, match="biomed-en: a revision is a branch, tag or commit of a model on the hub"):
        anyner.load("biomed-en", revision="main")
    with pytest.raises(AnynerError, match="downloaded from the Hugging Face Hub at revision v9: "):
        find(NAME, "v9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    code, line = push(folder, NAME)
    assert code == 1 and line.startswith(f"anyner: {NAME}: could not be pushed to the Hugging Face Hub: ") and "\n" not in line
    assert len(hub.commits) == 1
